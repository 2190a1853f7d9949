// `GET /availability`: opening hours, the rest of the caller's allowances, and the slots of appointments.

package import API
import Callers
import Configuration
import Deciding
import Delivery
package import Gate
package import HTTP
package import HTTPServer
import Records
package import Responses
import Serving
import Store
import Talkdesk

extension Handlers {
  /// The maximum span for which slots are listed.
  private static let longestSpan = Duration.seconds(31 * 86_400)
  /// The maximum number of slots in a response.
  private static let mostSlots = 3000

  /// `GET /availability`: whether the server accepts callbacks now, the next change, and the rest of the
  /// caller's allowances; with a span also the slots that begin in it.
  package func showAvailability(_ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange) { [self] visit, _ throws(Problem) in
      let request = visit.request
      return try await availability(visit, app: request.queryItem("app")) { () throws(Problem) in
        try SlotSpan(from: request.queryItem("from"), to: request.queryItem("to"))
      }
    }
  }

  /// The response with opening hours and allowances, and with a span also the slots that begin in it.
  func availability(
    _ visit: Visit, app name: Request.QueryItem, in span: () throws(Problem) -> SlotSpan?
  ) async throws(Problem) -> Response {
    let decider = visit.generation.decider
    let claim = decider.apps.claim(
      named: name, by: visit.caller.id, installedFor: visit.caller.installedFor)
    let app = try claim.admitted()
    let span = try span()
    let facts = visit.generation.facts(
      .callback, visit.caller, app: app, address: visit.address, visit.request, at: visit.time)
    let isStopped = decider.stops.stop(for: .callback, callerID: visit.caller.id, appID: app?.id) != nil
    var slots: [OfferedSlot]?
    if let span { slots = try await self.slots(in: span, for: facts, visit) }
    var availability = decider.policy.availability(
      of: .callback, callerID: visit.caller.id, appID: app?.id, at: facts.instant)
    if isStopped {
      availability.isOpen = false
      availability.nextChange = nil
      availability.windows = []
      slots = slots.map { _ in [] }
    }
    let statuses = decider.policy.statuses(for: facts, states: await decider.states(for: facts))
    return AvailabilityDocument.response(
      availability, isStopped: isStopped, statuses, slots: slots,
      agents: visit.generation.availableAgents.map { ($0.available, Instant($0.asOf)) }, at: facts.instant)
  }

  private func slots(
    in span: SlotSpan, for facts: Facts, _ visit: Visit
  ) async throws(Problem) -> [OfferedSlot] {
    try await slots(from: span.from, to: span.to, for: facts, visit)
  }

  /// The slots that begin in a span and are within the caller's bookable times, full slots included.
  package func slots(
    from: Instant, to: Instant, for facts: Facts, _ visit: Visit
  ) async throws(Problem) -> [OfferedSlot] {
    guard let terms = visit.generation.appointments,
      let times = visit.generation.bookableTimes(
        callerID: facts.callerID, appID: facts.appID, at: facts.instant)
    else { throw SlotSpan.problem("This server does not take appointments. Leave from and to out.") }
    guard to - from <= Self.longestSpan else {
      throw SlotSpan.problem("Give a span of at most 31 days.")
    }
    guard let slots = times.slots(from: from, to: to, most: Self.mostSlots) else {
      throw SlotSpan.problem("This span has more than \(Self.mostSlots) slots. Give a shorter one.")
    }
    guard let first = slots.first, let last = slots.last else { return [] }
    let taken: [Int64: Int]
    do throws(StoreError) {
      taken = try await store.takenPlaces(in: first.start...last.start)
    } catch {
      callbacks.log.storeFailed(error, doing: "slots", visit.context)
      throw .noRecords
    }
    return slots.map { slot in
      OfferedSlot(
        slot: slot, free: max(0, terms.perSlot - taken[slot.start, default: 0]), total: terms.perSlot)
    }
  }
}

/// The span whose slots are requested. It does not include its end.
struct SlotSpan {
  let from: Instant
  let to: Instant

  /// Reads `from` and `to`; nil if both are absent.
  init?(from: Request.QueryItem, to: Request.QueryItem) throws(Problem) {
    let items = [("from", from), ("to", to)]
    if items.allSatisfy({ $0.1 == .absent }) { return nil }
    var mistakes: [Problem.FieldProblem] = []
    var ends: [Instant] = []
    let isHalf = items.contains { $0.1 == .absent }
    for (name, item) in items {
      if case .value(let text) = item, let end = Instant(rfc3339: text) {
        ends.append(end)
      } else if item != .absent {
        mistakes.append(
          .init(name: name, description: "Give a date and time with an offset, such as 2026-11-23T00:00:00Z.")
        )
        continue
      }
      if isHalf { mistakes.append(.init(name: name, description: "Give both from and to, or neither.")) }
    }
    guard mistakes.isEmpty else { throw .invalid(mistakes) }
    (self.from, self.to) = (ends[0], ends[1])
    guard ends[0] < ends[1] else { throw Self.problem("Give a from that is before to.") }
  }

  /// The problem of a mistake that concerns both `from` and `to`.
  static func problem(_ description: String) -> Problem {
    .invalid(["from", "to"].map { .init(name: $0, description: description) })
  }
}
