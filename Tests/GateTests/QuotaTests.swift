// Tests of quotas: when a day, week or month begins, and how requests are counted in it.

import Gate
import Testing

@testable import Documents

struct QuotaTests {
  private func quota(_ limit: Int64, _ period: Quota.Period, _ zone: String = "Europe/Lisbon") throws
    -> AllowancePlan
  {
    .quota(try Quota(limit: limit, period: period, zone: Zone(named: zone)))
  }

  /// The wait that the second request is told, with a limit of one; nil if it is allowed.
  private func wait(_ plan: AllowancePlan, from first: String, to second: String) throws -> Int64? {
    guard case .taken(let state) = plan.take(from: nil, at: try at(first)) else { return nil }
    guard case .refused(let wait) = plan.take(from: state, at: try at(second)) else { return nil }
    #expect(plan.count(of: state, at: try at(second)).reset == wait)
    let then = Instant(seconds: try at(second).seconds + wait)
    guard case .taken = plan.take(from: state, at: then) else { return -1 }
    guard
      case .refused = plan.take(from: state, at: Instant(seconds: then.seconds - 1, nanoseconds: 999_999_999))
    else { return -2 }
    return wait
  }

  @Test func `a day ends at midnight in its zone`() throws {
    let plan = try quota(1, .day)
    #expect(try wait(plan, from: "2026-07-10T00:00:00+01:00", to: "2026-07-10T23:59:59+01:00") == 1)
    #expect(try wait(plan, from: "2026-07-10T23:59:59+01:00", to: "2026-07-11T00:00:00+01:00") == nil)
    // 23 hours when the clock is put forward, 25 when it is put back.
    #expect(try wait(plan, from: "2026-03-29T00:00:00Z", to: "2026-03-29T00:00:00Z") == 23 * 3600)
    #expect(try wait(plan, from: "2026-10-25T00:00:00+01:00", to: "2026-10-25T00:00:00+01:00") == 25 * 3600)
    #expect(plan.count(of: nil, at: try at("2026-10-25T12:00:00Z")).window == 25 * 3600)
  }

  @Test func `a week begins on Monday, a month on its first`() throws {
    let weekly = try quota(1, .week)
    #expect(try wait(weekly, from: "2026-11-16T00:00:00Z", to: "2026-11-22T23:00:00Z") == 3600)
    #expect(try wait(weekly, from: "2026-11-15T23:59:59Z", to: "2026-11-16T00:00:00Z") == nil)
    let monthly = try quota(1, .month)
    for (month, days) in [(1, 31), (2, 28), (4, 30), (11, 30), (12, 31)] {
      let text = month < 10 ? "0\(month)" : "\(month)"
      let end = try wait(monthly, from: "2026-\(text)-01T12:00:00Z", to: "2026-\(text)-\(days)T12:00:00Z")
      let hours: Int64 = month == 4 ? 11 : 12
      #expect(end == hours * 3600)
    }
  }

  @Test func `a midnight that does not exist, and one that comes twice, end the day once`() throws {
    // Santiago puts its clock forward at midnight, and back from midnight to 23:00.
    let plan = try quota(1, .day, "America/Santiago")
    #expect(try wait(plan, from: "2026-09-05T12:00:00-04:00", to: "2026-09-05T23:00:00-04:00") == 3600)
    #expect(try wait(plan, from: "2026-04-04T12:00:00-03:00", to: "2026-04-04T23:00:00-03:00") == 7200)
  }

  @Test func `a clock put back does not renew the allowance`() throws {
    let plan = try quota(1, .day, "UTC")
    guard case .taken(let state) = plan.take(from: nil, at: try at("2026-11-22T00:00:01Z")) else { return }
    #expect(plan.take(from: state, at: try at("2026-11-21T23:59:59Z")) == .refused(retryAfter: 86_401))
  }

  @Test func `a quota whose period was changed ends with the new one`() throws {
    let (daily, weekly, monthly) = (
      try quota(1, .day, "UTC"), try quota(1, .week, "UTC"), try quota(1, .month, "UTC")
    )
    let now = try at("2026-01-31T12:00:00Z")
    guard case .taken(let state) = daily.take(from: nil, at: now) else { return }
    #expect(monthly.take(from: state, at: now) == .refused(retryAfter: 43_200))
    // Until Monday.
    #expect(weekly.take(from: state, at: now) == .refused(retryAfter: 43_200 + 86_400))
  }

  @Test func `giving back counts one less in the same period only`() throws {
    let plan = try quota(2, .day, "UTC")
    let now = try at("2026-11-22T12:00:00Z")
    guard case .taken(let first) = plan.take(from: nil, at: now),
      case .taken(let second) = plan.take(from: first, at: now)
    else { return }
    #expect(plan.giveBack(to: second, taken: first, at: now) == AllowanceState(mark: first.mark, count: 1))
    guard case .taken(let tomorrow) = plan.take(from: second, at: try at("2026-11-23T12:00:00Z")) else {
      return
    }
    #expect(plan.giveBack(to: tomorrow, taken: first, at: now) == tomorrow)
    #expect(plan.giveBack(to: nil, taken: first, at: now) == nil)
  }

  @Test(
    arguments: Quota.Period.allCases,
    ["2026-11-22T12:00:00Z", "2026-11-30T12:00:00Z", "2026-12-31T23:59:59Z"])
  func `what was used is kept for the longest period that a changed rule may count it in`(
    _ period: Quota.Period, _ text: String
  ) throws {
    let now = try at(text)
    guard case .taken(let state) = try quota(1, period, "Pacific/Kiritimati").take(from: nil, at: now) else {
      return
    }
    let expiry = try quota(1, period, "Pacific/Kiritimati").expiry(of: state)
    for (changed, zone) in Quota.Period.allCases.flatMap({
      [($0, "Pacific/Kiritimati"), ($0, "Pacific/Pago_Pago")]
    }) {
      let plan = try quota(1, changed, zone)
      #expect(plan.count(of: state, at: Instant(seconds: expiry)).remaining == 1)
    }
    #expect(expiry - now.seconds <= 33 * 86_400 + 7 * 86_400)
  }

  @Test func `a limit of zero is refused`() {
    #expect(throws: Refusal.self) { try Quota(limit: 0, period: .day) }
  }
}
