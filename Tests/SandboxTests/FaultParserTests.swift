// Tests of how faults are read from JSON.

import HTTP
import JSON
import Testing

@testable import Sandbox

@Suite struct FaultParserTests {
  private func parse(_ text: String) throws -> Fault {
    try FaultParser.parse(JSONValue(parsing: Array(text.utf8)))
  }

  /// The names of the members that a refusal reports.
  private func complaints(_ text: String) throws -> [String] {
    do {
      _ = try parse(text)
      return []
    } catch let error as ControlRefusal {
      #expect(error.status == .unprocessableContent)
      return error.fields.map(\.name)
    }
  }

  @Test func `every member has its place`() throws {
    var fault = Fault(endpoint: .callback)
    #expect(try parse(#"{"endpoint":"callback"}"#) == fault)
    fault.status = 503
    fault.delay = 250
    fault.times = 3
    fault.retryAfter = "7"
    fault.body = .text("<html>")
    let text =
      #"{"endpoint":"callback","status":503,"delay_ms":250,"times":3,"retry_after":7,"body":"<html>"}"#
    #expect(try parse(text) == fault)
    #expect(try parse(#"{"endpoint":"token","drop":"before"}"#).drop == .before)
    #expect(try parse(#"{"endpoint":"token","drop":"during"}"#).drop == .during)
    #expect(try parse(#"{"endpoint":"token","drop":"after"}"#).drop == .after)
    #expect(try parse(#"{"endpoint":"token","body":{"a":[1]}}"#).body == .value(["a": [1]]))
    #expect(
      try parse(#"{"endpoint":"token","retry_after":"Wed, 21 Oct 2026 07:28:00 GMT"}"#).retryAfter?.hasSuffix(
        "GMT") == true)
  }

  @Test(arguments: [
    ("0", Fault.ExpiresIn.seconds(0)), ("-5", .seconds(-5)), ("600", .seconds(600)), ("null", .leftOut),
    ("\"300\"", .verbatim("300")), ("1.5", .verbatim(.number(JSONNumber(1.5)!))),
    ("9223372036854775807", .verbatim(.number(JSONNumber(.max)))),
  ])
  func `a lifetime may be anything a client should survive`(text: String, expected: Fault.ExpiresIn) throws {
    #expect(try parse(#"{"endpoint":"token","expires_in":\#(text)}"#).expiresIn == expected)
  }

  @Test func `null counts as left out`() throws {
    let text =
      #"{"endpoint":"token","status":null,"delay_ms":null,"times":null,"retry_after":null,"body":null,"drop":null,"strict_clock":null}"#
    #expect(try parse(#"{"endpoint":"token","strict_clock":false}"#) == Fault(endpoint: .token))
    #expect(try parse(text) == Fault(endpoint: .token))
  }

  @Test(arguments: [
    (#"{}"#, ["endpoint"]), (#"{"endpoint":"tokens"}"#, ["endpoint"]), (#"{"endpoint":1}"#, ["endpoint"]),
    (#"{"endpoint":"token","statsu":503}"#, ["statsu"]),
    (#"{"endpoint":"token","status":199}"#, ["status"]), (#"{"endpoint":"token","status":600}"#, ["status"]),
    (#"{"endpoint":"token","status":"503"}"#, ["status"]),
    (#"{"endpoint":"token","status":5e2}"#, ["status"]),
    (#"{"endpoint":"token","delay_ms":-1}"#, ["delay_ms"]),
    (#"{"endpoint":"token","delay_ms":600001}"#, ["delay_ms"]),
    (#"{"endpoint":"token","times":0}"#, ["times"]), (#"{"endpoint":"token","times":1000001}"#, ["times"]),
    (#"{"endpoint":"token","retry_after":-1}"#, ["retry_after"]),
    (#"{"endpoint":"token","retry_after":""}"#, ["retry_after"]),
    (#"{"endpoint":"token","retry_after":"a\r\nb"}"#, ["retry_after"]),
    (#"{"endpoint":"token","retry_after":" a"}"#, ["retry_after"]),
    (#"{"endpoint":"token","drop":"midway"}"#, ["drop"]),
    (#"{"endpoint":"token","drop":"during","body":""}"#, ["drop"]),
    (#"{"endpoint":"callback","drop":"during","status":204}"#, ["drop"]),
    (#"{"endpoint":"token","expires_in":true}"#, ["expires_in"]),
    (#"{"endpoint":"callback","expires_in":1}"#, ["expires_in"]),
    (#"{"endpoint":"token","drop":"after","status":503}"#, ["drop"]),
    (#"{"endpoint":"token","status":503,"expires_in":1}"#, ["expires_in"]),
    (#"{"endpoint":"token","body":"x","expires_in":1}"#, ["expires_in"]),
    (#"{"endpoint":"callback","status":204,"body":"x"}"#, ["body"]),
    (#"{"endpoint":"callback","strict_clock":true}"#, ["strict_clock"]),
    (#"{"endpoint":"token","strict_clock":1}"#, ["strict_clock"]),
    (#"{"endpoint":"token","strict_clock":true,"status":300}"#, ["strict_clock"]),
    (#"{"endpoint":"token","strict_clock":true,"drop":"before"}"#, ["strict_clock"]),
    (
      #"{"endpoint":"nowhere","status":1,"times":-1,"x":1,"y":2}"#, ["x", "y", "endpoint", "times", "status"]
    ),
    ("[]", [""]),
  ])
  func `a fault that cannot be understood is refused, each member named`(text: String, names: [String]) throws
  {
    #expect(try complaints(text) == names)
  }

  @Test func `the limits themselves are allowed`() throws {
    for text in [
      #"{"endpoint":"token","status":200}"#, #"{"endpoint":"token","status":599}"#,
      #"{"endpoint":"token","delay_ms":600000}"#, #"{"endpoint":"token","times":1000000}"#,
      #"{"endpoint":"callback","status":204,"body":""}"#,
    ] { #expect(throws: Never.self) { try parse(text) } }
  }

  @Test func `a fault is shown in the shape it is posted in`() throws {
    for text in [
      #"{"endpoint":"callback","times":3,"status":503,"delay_ms":250,"retry_after":"7","body":"<html>"}"#,
      #"{"endpoint":"token","times":1,"expires_in":null}"#,
      #"{"endpoint":"token","times":1,"expires_in":-5}"#,
      #"{"endpoint":"token","times":1,"expires_in":"300"}"#,
      #"{"endpoint":"token","times":1,"drop":"after"}"#,
      #"{"endpoint":"token","times":1,"body":{"a":1}}"#,
      #"{"endpoint":"token","times":2,"strict_clock":true}"#,
    ] { #expect(String(decoding: try parse(text).json.serialized(), as: UTF8.self) == text) }
  }
}
