// Tests of what an event from Talkdesk says about a call.

import Gate
import JOSE
import JSON
import Outcomes
import Store
import Testing

@Suite struct CallEventTests {
  private static let hook = HookSecret(Secret(Array(repeating: 7, count: 32)))
  private static let settings = OutcomeSettings(hooks: [hook])
  /// 2026-11-23T10:01:00Z.
  private static let now = Instant(seconds: 1_795_428_060)

  private static func ended(
    _ changes: [String: JSONValue] = [:], by settings: OutcomeSettings = settings, at now: Instant = now
  ) -> EndedCall? {
    var members: JSONObject = [
      "event": "outboundCallEnds", "call_id": "c1", "contact_phone_number": "+14155550123",
      "talkdesk_phone_number": "+18005550199", "start_time": "2026-11-23T10:00:00Z",
      "timestamp": "2026-11-23T10:00:52Z", "total_duration": "52", "duration": "40", "waiting_time": "12",
      "hold_time": "0", "type": "outbound",
    ]
    for (name, value) in changes { members[name] = value }
    return CallEvent(parsing: members.serialized())?.ended(by: settings, at: now)
  }

  @Test func `an event says who was called, when, and for how long they spoke`() throws {
    let call = try #require(Self.ended())
    #expect(call.id == "c1" && call.contact.text == "+14155550123" && call.talkdesk.text == "+18005550199")
    #expect(call.start == Instant(rfc3339: "2026-11-23T10:00:00Z"))
    #expect(call.outcome.at == Instant(rfc3339: "2026-11-23T10:00:52Z"))
    #expect(call.outcome.state == .reached && call.outcome.source == .trigger)
    #expect(call.outcome.talkSeconds == 40 && call.outcome.waitedSeconds == 12)
  }

  @Test(arguments: [
    ("outbound", "40", CallOutcome.State.reached), ("outbound", "0", .notReached),
    ("outbound_missed", "30", .notReached), ("missed", "", .notReached), ("abandoned", "5", .cancelled),
    ("short_abandoned", "N/A", .cancelled), ("Short-Abandoned", "0", .cancelled),
    ("{{interaction.type}}", "1", .reached), ("", "0", .notReached), ("outbound", "12.0", .reached),
    ("voicemail", "12", nil), ("outbound", "", nil), ("outbound", "N/A", nil), ("outbound", "-1", nil),
    ("outbound", "1e3", nil), ("outbound", "nan", nil), ("outbound", "604801", nil),
    ("outbound", "{{duration}}", nil),
  ])
  func `what Talkdesk says is the outcome, and nothing else is`(
    type: String, duration: String, state: CallOutcome.State?
  ) {
    #expect(Self.ended(["type": .string(type), "duration": .string(duration)])?.outcome.state == state)
  }

  @Test func `time on hold counts, and days in place of seconds are no number of seconds`() {
    let held = Self.ended(["duration": "0", "hold_time": "3"])
    #expect(held?.outcome.state == .reached && held?.outcome.talkSeconds == 3)
    let days = Self.ended(["duration": "0.000069"])
    #expect(days?.outcome.state == .reached && days?.outcome.talkSeconds == nil)
    #expect(Self.ended(["duration": .number(JSONNumber(7))])?.outcome.talkSeconds == 7)
  }

  @Test func `a longer talk may be asked for, and calls of some triggers only`() {
    var settings = Self.settings
    settings.reachedOver = .seconds(5)
    #expect(Self.ended(["duration": "5"], by: settings)?.outcome.state == .notReached)
    #expect(Self.ended(["duration": "6"], by: settings)?.outcome.state == .reached)
    settings.reachedEvents = [.inboundCallEnds]
    #expect(Self.ended(by: settings) == nil)
    #expect(Self.ended(["event": "inbound_call_ends"], by: settings) != nil)
    settings.triggers = [.outboundCallEnds]
    #expect(Self.ended(["event": "inbound_call_ends"], by: settings) == nil)
  }

  @Test(arguments: ["inboundCallStarts", "contactCreated", "ends"])
  func `another event is none of a call's end`(event: String) {
    #expect(Self.ended(["event": .string(event)]) == nil)
    // The template names its trigger, whatever Talkdesk writes for the event.
    #expect(Self.ended(["event": .string(event), "trigger": "outboundCallEnds"]) != nil)
  }

  @Test func `an event has the token of the secret whose path it came by`() {
    let other = HookSecret(Secret(Array(repeating: 8, count: 32)))
    func hasToken(_ token: JSONValue?) -> Bool? {
      var members: JSONObject = [:]
      members["token"] = token
      return CallEvent(parsing: members.serialized())?.hasToken(of: Self.hook)
    }
    #expect(hasToken(.string(Self.hook.exposedEventToken())) == true)
    for token: JSONValue? in [
      .string(other.exposedEventToken()), "another", "", .null, 7, nil,
      .string(String(Self.hook.exposedPath().split(separator: "/").last ?? "")),
    ] {
      #expect(hasToken(token) == false)
    }
  }

  @Test(arguments: [(64, true), (65, false), (128, false)])
  func `an id that is longer than those of Talkdesk is none`(count: Int, isTaken: Bool) {
    #expect((Self.ended(["call_id": .string(String(repeating: "7", count: count))]) != nil) == isTaken)
  }

  @Test(arguments: [
    ("2026-11-23T10:00:00Z", "2026-11-23T10:00:00Z"),
    ("2026-11-23T11:00:00.5+01:00", "2026-11-23T10:00:00.5Z"),
    ("2026-11-23 10:00:00", "2026-11-23T10:00:00Z"), ("1795428000", "2026-11-23T10:00:00Z"),
    ("1795428000.5", "2026-11-23T10:00:00.5Z"),
  ])
  func `a time has one of three forms`(text: String, meant: String) {
    #expect(CallTime.instant(text) == Instant(rfc3339: meant))
  }

  @Test(arguments: [
    "", "yesterday", "2026-11-23", "10:00:00", "2026-11-23 10:00", "-1", "99999999999999", "1 2",
  ])
  func `anything else is no time`(text: String) { #expect(CallTime.instant(text) == nil) }

  @Test(arguments: [
    (-600.0, true), (-600.5, false), (0, true), (604_748, true), (604_748.5, false), (1e9, false),
    (-1e9, false),
  ])
  func `a call that ends in the future, or began a week ago, is none`(later: Double, isTaken: Bool) {
    // The call ends at 10:00:52.
    let now = Instant(seconds: 1_795_428_052).advanced(by: .seconds(later))
    #expect((Self.ended(at: now) != nil) == isTaken)
  }

  @Test func `a beginning of long ago is none, whatever the end`() {
    #expect(Self.ended(["start_time": "2026-11-16 10:01:00"]) != nil)
    #expect(Self.ended(["start_time": "2026-11-16 10:00:59"]) == nil)
    #expect(Self.ended(["start_time": "0"]) == nil)
  }

  @Test func `beginning and end follow from each other and the whole duration, and from nothing else`() {
    #expect(Self.ended(["start_time": ""])?.start == Instant(rfc3339: "2026-11-23T10:00:00Z"))
    #expect(Self.ended(["timestamp": "N/A"])?.outcome.at == Instant(rfc3339: "2026-11-23T10:00:52Z"))
    #expect(Self.ended(["start_time": "", "total_duration": ""]) == nil)
    // The talk time is not the total duration.
    #expect(Self.ended(["timestamp": "", "total_duration": "N/A"]) == nil)
    #expect(Self.ended(["timestamp": "", "start_time": ""]) == nil)
    #expect(Self.ended(["total_duration": ""])?.outcome.at == Instant(rfc3339: "2026-11-23T10:00:52Z"))
    // An end before the start is ignored.
    #expect(
      Self.ended(["timestamp": "2026-11-23T09:00:00Z"])?.outcome.at
        == Instant(rfc3339: "2026-11-23T10:00:00Z"))
  }

  @Test(arguments: ["contact_phone_number", "talkdesk_phone_number", "call_id"])
  func `what is missing is no call`(name: String) {
    #expect(Self.ended([name: "N/A"]) == nil)
    #expect(Self.ended([name: .null]) == nil)
    #expect(Self.ended(["contact_phone_number": "anonymous"]) == nil)
    #expect(Self.ended(["contact_phone_number": "14155550123"])?.contact.text == "+14155550123")
  }

  @Test func `a body is an object of at most 16 KiB`() {
    let open = #"{"a":""#
    let close = #""}"#
    let fill = CallEvent.mostBytes - open.utf8.count - close.utf8.count
    func body(_ count: Int) -> [UInt8] {
      Array((open + String(repeating: "x", count: count) + close).utf8)
    }
    #expect(CallEvent(parsing: body(fill)) != nil)
    #expect(CallEvent(parsing: body(fill + 1)) == nil)
    for text in ["", "[]", "{", #"{"a":"un"quoted"}"#, #"{"a":1}{"#, "event=outboundCallEnds"] {
      #expect(CallEvent(parsing: Array(text.utf8)) == nil)
    }
  }

  @Test func `the template asks for nothing of a person, and its filled form is an event`() throws {
    let text = HookTemplate.exposedText(of: .inboundCallEnds, Self.hook)
    let template = try JSONValue(parsing: Array(text.utf8))
    #expect(template["trigger"] == "inboundCallEnds" && template["call_id"] == "{{call_id}}")
    for word in ["name", "email", "agent", "recording", "title", "hangup"] { #expect(!text.contains(word)) }
    #expect(CallEvent(parsing: Array(text.utf8))?.ended(by: Self.settings, at: Self.now) == nil, "as it is")
    var filled = text
    for (place, value) in [
      ("event", "?"), ("call_id", "c9"), ("contact_phone_number", "+14155550123"),
      ("talkdesk_phone_number", "+18005550199"), ("start_time", "1795428000"), ("timestamp", "1795428013"),
      ("duration", "1"),
    ] {
      filled = filled.split(separator: "{{\(place)}}", omittingEmptySubsequences: false).joined(
        separator: value)
    }
    #expect(CallEvent(parsing: Array(filled.utf8))?.ended(by: Self.settings, at: Self.now)?.id == "c9")
  }

  @Test func `a hook opens for its own path and for the one before`() {
    let former = HookSecret(Secret(Array(repeating: 8, count: 32)))
    let settings = OutcomeSettings(hooks: [Self.hook, former])
    let token = { (hook: HookSecret) in String(hook.exposedPath().split(separator: "/").last ?? "") }
    #expect(token(Self.hook).utf8.count == 43 && token(Self.hook) != token(former))
    func opened(_ token: String, _ settings: OutcomeSettings) -> String? {
      settings.hook(opening: token)?.exposedPath()
    }
    for hook in [Self.hook, former] { #expect(opened(token(hook), settings) == hook.exposedPath()) }
    #expect(opened(token(former), Self.settings) == nil)
    for token in ["", "x", Self.hook.exposedEventToken()] { #expect(opened(token, settings) == nil) }
    #expect(
      HookTemplate.mark(of: .outboundCallEnds, Self.hook, externalURL: "https://a.example")
        != HookTemplate.mark(of: .outboundCallEnds, former, externalURL: "https://a.example"))
  }
}
