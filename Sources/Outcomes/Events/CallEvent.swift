// Parses a Talkdesk event about a call that has ended.

package import Gate
import JSON
package import Store

/// An event as Talkdesk sends it: one JSON object, with values that Talkdesk filled into the placeholders of
/// a template.
package struct CallEvent: Sendable {
  /// The maximum size of an event, in bytes.
  package static let mostBytes = 16 * 1024
  /// The maximum length of a call ID, in octets. IDs of Talkdesk and its carriers have at most 36.
  package static let longestID = 64
  /// The maximum time by which the end of a call may lie in the future: the longest clock difference that
  /// `outcomes.match.before` allows.
  static let furthestEnd = Duration.seconds(600)
  /// The maximum age of the start of a call, and therefore also the longest duration of a call. Reports reach
  /// back at most as far (`ReportTurn.furthest`).
  static let furthestStart = Duration.seconds(7 * 86_400)
  private static let limits = JSONLimits(bytes: mostBytes, depth: 4, members: 64, values: 256)

  private let members: JSONObject

  init(members: JSONObject) { self.members = members }

  /// Reads a body; nil unless it is a JSON object.
  package init?(parsing content: [UInt8]) {
    guard (1...Self.mostBytes).contains(content.count) else { return nil }
    do {
      guard let members = try JSONValue(parsing: content, limits: Self.limits).object else { return nil }
      self.members = members
    } catch {
      return nil
    }
  }

  /// Whether the event has the token of a webhook, so that its trigger's template was made with the same
  /// secret as the path.
  package func hasToken(of hook: HookSecret) -> Bool {
    members["token"]?.string.map(hook.hasEventToken) ?? false
  }

  /// The call that has ended; nil if the event's trigger does not count, or if the event lacks a usable call
  /// ID, two valid phone numbers, a clear outcome or plausible times.
  ///
  /// - Parameters:
  ///   - now: The current time, to refuse ends in the future and calls that started too long ago.
  ///   - source: The source of the event.
  package func ended(
    by settings: OutcomeSettings, at now: Instant, source: CallOutcome.Source = .trigger
  ) -> EndedCall? {
    // The template names its own trigger, because the text that Talkdesk fills in for the event is not
    // documented.
    if let event = text("trigger") ?? text("event") {
      guard let trigger = CallTrigger(event: event), settings.triggers.contains(trigger),
        settings.reachedEvents?.contains(trigger) ?? true
      else { return nil }
    }
    guard let id = text("call_id") ?? text("interaction_id"), id.utf8.count <= Self.longestID,
      let contact = number("contact_phone_number"), let talkdesk = number("talkdesk_phone_number"),
      let state = state(over: settings.reachedOver), let (start, end) = times,
      end - now <= Self.furthestEnd, now - start <= Self.furthestStart
    else { return nil }
    return EndedCall(
      id: id, contact: contact, talkdesk: talkdesk, start: start,
      outcome: CallOutcome(
        state, source: source, at: end, talkSeconds: talked.flatMap(CallTime.whole),
        waitedSeconds: seconds("waiting_time").flatMap(CallTime.whole)))
  }

  // MARK: Values

  /// The outcome of the call, if Talkdesk reports one.
  private func state(over least: Duration) -> CallOutcome.State? {
    let type = text("type").map { text in
      // Talkdesk writes blanks, hyphens and capitals in some places.
      let octets = text.utf8.map {
        $0 == 0x20 || $0 == 0x2D ? 0x5F : (0x41...0x5A).contains($0) ? $0 | 0x20 : $0
      }
      return String(decoding: octets, as: UTF8.self)
    }
    switch type {
    case "missed", "outbound_missed": return .notReached
    case "abandoned", "short_abandoned": return .cancelled
    case "voicemail": return nil
    default:
      guard let talked else { return nil }
      return talked > Double(least.components.seconds) ? .reached : .notReached
    }
  }

  /// Talk time in seconds, including time on hold.
  private var talked: Double? {
    guard let duration = seconds("duration") else { return nil }
    return max(duration, seconds("hold_time") ?? 0)
  }

  /// The start and end of the call. If one is missing, the other and the total duration determine it. A start
  /// alone is not enough: the report, which has the end, would then count the same call as another one.
  private var times: (start: Instant, end: Instant)? {
    let (start, end) = (time("start_time"), time("timestamp"))
    // Any number: a week at most.
    let total = seconds("total_duration").map { Duration.milliseconds(Int64($0 * 1000)) }
    guard let begun = start ?? total.flatMap({ end?.advanced(by: .zero - $0) }),
      let ended = end ?? total.flatMap({ start?.advanced(by: $0) })
    else { return nil }
    return (begun, max(begun, ended))
  }

  // MARK: Members

  /// A member's text; nil if Talkdesk had no value, or did not replace the placeholder.
  private func text(_ name: String) -> String? {
    let text: String
    switch members[name] {
    case .string(let value)?: text = value
    case .number(let number)?: text = number.description
    default: return nil
    }
    guard !text.isEmpty, text != "N/A", !text.contains("{{") else { return nil }
    return text
  }

  private func seconds(_ name: String) -> Double? { text(name).flatMap(CallTime.seconds) }
  private func time(_ name: String) -> Instant? { text(name).flatMap(CallTime.instant) }

  /// A phone number, with or without the plus sign.
  private func number(_ name: String) -> E164? {
    guard let text = text(name) else { return nil }
    do throws(E164Error) {
      return try E164(text.utf8.first == 0x2B ? text : "+" + text)
    } catch {
      return nil
    }
  }
}
