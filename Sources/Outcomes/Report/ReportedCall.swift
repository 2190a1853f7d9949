// Parses an entry of the report of calls, in the current format and in the format before May 2026.

package import Gate
import JSON
package import Store

extension CallEvent {
  private static let reportLimits = JSONLimits(
    bytes: ReportEntries.mostBytes, depth: 16, members: 256, values: 4096)
  /// The older format has durations in days.
  private static let secondsOfDay = 86_400.0
  private static let mostDays = 7.0

  /// The call of an entry; nil if the entry is not a JSON object, or if `ended` refuses its values.
  ///
  /// | | today | before |
  /// |---|---|---|
  /// | id | `call_id` | `interaction_id` |
  /// | type | `type` | `call_type` |
  /// | times | `start_at`, `end_at`: RFC 3339 | `start_time`, `end_time`: `2026-11-23 10:00:00` |
  /// | spans | seconds | days: 0.000069 is 6 s |
  package static func reported(
    _ entry: [UInt8], by settings: OutcomeSettings, at now: Instant
  ) -> EndedCall? {
    let object: JSONObject?
    do { object = try JSONValue(parsing: entry, limits: reportLimits).object } catch { object = nil }
    guard let object else { return nil }
    let isOld = object["type"] == nil && object["call_type"] != nil
    func value(_ names: String...) -> JSONValue { names.lazy.compactMap { object[$0] }.first ?? .null }
    func span(_ names: String...) -> JSONValue {
      let found = names.lazy.compactMap { object[$0] }.first
      guard isOld else { return found ?? .null }
      let days = found?.double(in: 0...mostDays) ?? found?.string.flatMap(CallTime.seconds)
      guard let days, days <= mostDays else { return .null }
      // Round to seconds: half a second of rounding error in the last digit must not count as talk time.
      return .string(String((days * secondsOfDay).rounded()))
    }
    let type = value("type", "call_type")
    let isOutbound = type.string.map { $0.utf8.prefix(8).map { $0 | 0x20 } } == Array("outbound".utf8)
    let event = CallEvent(members: [
      // Filters by trigger apply to the report, too.
      "trigger": .string((isOutbound ? CallTrigger.outboundCallEnds : .inboundCallEnds).rawValue),
      "type": type, "call_id": value("call_id", "interaction_id"),
      "contact_phone_number": value("contact_phone_number"),
      "talkdesk_phone_number": value("talkdesk_phone_number"),
      "start_time": value("start_at", "start_time"), "timestamp": value("end_at", "end_time"),
      "total_duration": span("total_time"), "duration": span("talk_time"), "hold_time": span("hold_time"),
      "waiting_time": span("wait_time", "waiting_time"),
    ])
    return event.ended(by: settings, at: now, source: .report)
  }
}
