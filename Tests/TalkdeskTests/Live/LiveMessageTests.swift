// Tests of what the events of Talkdesk's Live API say.

import HTTP
import Talkdesk
import Testing

struct LiveMessageTests {
  private func message(_ data: String, _ name: String = "result", at path: [String] = ["result", "value"])
    throws
    -> LiveMessage
  {
    var reader = EventStreamReader()
    let events = try reader.take(Array("event:\(name)\ndata:\(data)\n\n".utf8))
    return LiveMessage(try #require(events.first), at: path)
  }

  @Test(arguments: [
    (#"{"result":{"value":3}}"#, LiveMessage.figure(3)), (#"{"result":{"value":0}}"#, .figure(0)),
    (#"{"result":{"value":"12"}}"#, .figure(12)), (#"{"result":{"value":2.0}}"#, .figure(2)),
    (#"{"result":{"value":1000000}}"#, .figure(1_000_000)), (#"{"result":{"value":1000001}}"#, .unreadable),
    (#"{"result":{"value":"1000001"}}"#, .unreadable), (#"{"result":{"value":-1}}"#, .unreadable),
    (#"{"result":{"value":2.5}}"#, .unreadable), (#"{"result":{"value":null}}"#, .unreadable),
    (#"{"result":{"value":""}}"#, .unreadable), (#"{"result":{"value":"N/A"}}"#, .unreadable),
    (#"{"result":{"value":1e400}}"#, .unreadable), (#"{"result":3}"#, .unreadable), ("[]", .unreadable),
    (#"{"result"=>{"value"=>3}}"#, .unreadable), ("", .unreadable),
  ])
  func `a number is a whole one at the path, and nothing else is one`(data: String, expected: LiveMessage)
    throws
  {
    #expect(try message(data) == expected)
  }

  @Test func `a path leads through lists`() throws {
    let data = #"{"result":[{"n":1},{"n":"2"}]}"#
    #expect(try message(data, at: ["result", "1", "n"]) == .figure(2))
    #expect(try message(data, at: ["result", "2", "n"]) == .unreadable)
    #expect(try message(data, at: ["result", "-1", "n"]) == .unreadable)
  }

  @Test func `an error is one however it is written, and other events say nothing`() throws {
    #expect(try message(#"{"message"=>"no", :code=>1}"#, "error") == .failed)
    #expect(try message(#"{"result":{"value":3}}"#, "ping") == .other)
  }

  @Test func `the paths of numbers are listed without values`() throws {
    var reader = EventStreamReader()
    let data = #"{"metadata":{"name":"x"},"entry_id":"17","result":{"a":[1,{"b":2}],"c":"ann"}}"#
    let event = try #require(try reader.take(Array("event:result\ndata:\(data)\n\n".utf8)).first)
    #expect(LiveMessage.paths(event) == ["entry_id", "result.a.0", "result.a.1.b"])
  }
}
