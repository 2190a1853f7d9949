// `GET /genesys/1|2/service/callback/{name}/availability`: the bookable times for GMS clients.

import API
import Callers
import Configuration
import Deciding
import Documents
import Gate
package import HTTP
package import HTTPServer
import JSON
import Responses
import Serving
import Store
import Synchronization

/// The requested span, and the requested number of slots.
private struct GMSSpan {
  /// The maximum length of a span, in days.
  private static let mostDays = 31
  private static let day = Duration.seconds(86_400)

  let from: Instant
  let to: Instant
  /// The maximum number of slots in the response.
  let most: Int

  init(_ request: Request, isSecond: Bool, now: Instant) throws(Problem) {
    from = try Self.time("start", request, isSecond) ?? now
    let days = try Self.number("number-of-days", request, 0...Int64(Self.mostDays))
    let end = try Self.time("end", request, isSecond)
    to = end ?? from.advanced(by: days.map { Self.day * $0 } ?? Self.day)
    most = Int(try Self.number("max-time-slots", request, 0...1_000_000) ?? 1_000_000)
    guard from <= to, to - from <= Self.day * Self.mostDays else {
      throw .invalid("from", "Give a span of at most \(Self.mostDays) days, which ends after it begins.")
    }
  }

  private static func time(
    _ name: String, _ request: Request, _ isSecond: Bool
  ) throws(Problem) -> Instant? {
    if isSecond, let time = try number(name + "-ms", request, 0...253_402_300_799_999) {
      return Instant(seconds: time / 1000, nanoseconds: Int32(time % 1000) * 1_000_000)
    }
    guard let text = try text(name, request) else { return nil }
    guard let time = Instant(gms: text) else {
      throw .invalid(name, "Give a time such as 2026-11-23T10:00:00.000Z.")
    }
    return time
  }

  private static func number(
    _ name: String, _ request: Request, _ range: ClosedRange<Int64>
  ) throws(Problem) -> Int64? {
    guard let text = try text(name, request) else { return nil }
    guard let number = Int64(text), range.contains(number) else {
      throw .invalid(name, "Give a whole number from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }

  static func text(_ name: String, _ request: Request) throws(Problem) -> String? {
    switch request.queryItem(name) {
    case .absent: return nil
    case .value(let text): return text
    case .malformed: throw .invalid(name, "Give it once, percent-encoded.")
    }
  }
}

/// A cache of the time zones that clients have named. The same zone may be written in several ways, so the
/// cache is limited to 1000 names.
private let zones = Mutex<[String: Zone]>([:])

extension Handlers {
  /// `GET /genesys/1|2/service/callback/{name}/availability`: the times that can be booked.
  package func showGMSAvailability(
    _ name: String?, isSecond: Bool, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    guard let setting = gms(&exchange) else { return }
    visit(request, &exchange, form: setting.errors.form, app: setting.app(name)) {
      [self] visit, _ throws(Problem) in
      let service = try setting.service(name).service
      let decider = visit.generation.decider
      let app = try decider.apps.claim(
        named: .value(service.app), by: visit.caller.id, installedFor: visit.caller.installedFor
      ).admitted()
      let facts = visit.generation.facts(
        .callback, visit.caller, app: app, address: visit.address, visit.request, at: visit.time)
      let span = try GMSSpan(visit.request, isSecond: isSecond, now: facts.instant)
      var showsFull = false
      var zone: Zone?
      if isSecond {
        switch try GMSSpan.text("report-busy", visit.request) {
        case nil, "false"?: break
        case "true"?: showsFull = true
        case _?: throw .invalid("report-busy", "Give true or false.")
        }
        if let name = try GMSSpan.text("timezone", visit.request) { zone = try Self.zone(name) }
      }
      var slots: [OfferedSlot] = []
      let isStopped = decider.stops.stop(for: .callback, callerID: visit.caller.id, appID: app?.id) != nil
      if visit.generation.appointments != nil, !isStopped {
        slots = try await self.slots(from: span.from, to: span.to, for: facts, visit)
      }
      let shown = slots.filter { $0.free > 0 || showsFull }.prefix(span.most)
      guard isSecond else {
        var times = JSONObject()
        // No two slots begin at the same time. Looking for a repeated name among 3,000 slots took 0.1 s.
        for slot in shown {
          times.appendUnchecked(Instant(seconds: slot.slot.start).gms, Self.number(slot.free))
        }
        return GMSRecord.response(.object(times))
      }
      let length = visit.generation.appointments.map { $0.slot.components.seconds } ?? 0
      var document: JSONObject = ["durationMin": Self.number(Int(max(1, length / 60)))]
      if let zone { document["timezone"] = .string(zone.name) }
      document["slots"] = .array(
        shown.map { slot in
          var object: JSONObject = ["utcTime": .string(Instant(seconds: slot.slot.start).gms)]
          if let local = zone?.localSeconds(at: slot.slot.start) {
            object["localTime"] = .string(Instant(seconds: local).gmsLocal)
          }
          object["capacity"] = Self.number(slot.free)
          object["total"] = Self.number(slot.total)
          return .object(object)
        })
      return GMSRecord.response(.object(document))
    }
  }

  private static func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }

  /// Finds a time zone by its name. Its table takes a while to make, so it is cached.
  private static func zone(_ name: String) throws(Problem) -> Zone {
    if let zone = zones.withLock({ $0[name] }) { return zone }
    do throws(Refusal) {
      let zone = try Zone(named: name)
      zones.withLock { if $0.count < 1000 { $0[name] = zone } }
      return zone
    } catch {
      throw .invalid("timezone", "Give a name of the time zone database, such as Europe/Berlin.")
    }
  }
}
