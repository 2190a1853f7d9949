// Tests of the body of a ticket request: its limits at n and n + 1, and when two bodies count as the same.

import API
import JOSE
import Testing

@testable import Handling

@Suite struct TicketRequestTests {
  private func faults(_ text: String) -> [String] {
    do throws(Problem) {
      _ = try TicketRequest(parsing: Array(text.utf8))
      return []
    } catch {
      return error.fields.isEmpty ? [error.code.rawValue] : error.fields.map(\.name)
    }
  }

  private func digest(_ text: String) throws -> [UInt8] {
    try TicketRequest(parsing: Array(text.utf8)).digest.bytes
  }

  private func letters(_ count: Int) -> String { String(repeating: "é", count: count) }

  @Test func `each limit holds at n and not at n + 1`() {
    #expect(faults(#"{"title":"\#(letters(255))"}"#) == [])
    #expect(faults(#"{"title":"\#(letters(256))"}"#) == ["title"])
    #expect(faults(#"{"title":"t","message":"\#(letters(5000))"}"#) == [])
    #expect(faults(#"{"title":"t","message":"\#(letters(5001))"}"#) == ["message"])
    #expect(faults(#"{"title":"t","user_name":"\#(letters(80))"}"#) == [])
    for name in [letters(81), "", #"a\nb"#] {
      #expect(faults(#"{"title":"t","user_name":"\#(name)"}"#) == ["user_name"])
    }
    #expect(faults(#"{"title":"t","user_name":1}"#) == ["user_name"])
    #expect(faults(#"{"title":"t","group_key":"\#(letters(64))"}"#) == [])
    #expect(faults(#"{"title":"t","group_key":"\#(letters(65))"}"#) == ["group_key"])
    for (count, expected) in [(3, []), (4, ["related_channels"])] {
      let channels = (0..<count).map { "\"c\($0)\"" }.joined(separator: ",")
      #expect(faults(#"{"title":"t","related_channels":[\#(channels)]}"#) == expected)
    }
    for (count, expected) in [(20, []), (21, ["custom_fields"])] {
      let fields = (0..<count).map { "\"f\($0)\":\"v\"" }.joined(separator: ",")
      #expect(faults(#"{"title":"t","custom_fields":{\#(fields)}}"#) == expected)
    }
    #expect(faults(#"{"title":"t","custom_fields":{"a":"\#(letters(256))"}}"#) == ["custom_fields.a"])
  }

  @Test func `every mistake is named at once`() {
    #expect(
      faults(
        ##"{"title":"a\nb","message":"","custom_fields":{"a":1,"":"x"},"priority":"urgent","related_channels":["a,b",2],"x":0}"##
      ) == [
        "x", "title", "message", "custom_fields.a", "custom_fields.", "related_channels[0]",
        "related_channels[1]", "priority",
      ])
    #expect(faults("{}") == ["title"])
    #expect(faults("[]") == ["invalid_request"])
    #expect(faults("{") == ["invalid_json"])
    #expect(faults(#"{"title":"t","title":"t"}"#) == ["invalid_json"])
    #expect(faults(String(repeating: " ", count: 65_537)) == ["content_too_large"])
  }

  @Test func `a message may have lines, and its order of members makes no difference`() throws {
    let one = try digest(#"{"title":"t","message":"a\nb\tc","custom_fields":{"a":"1","b":"2"}}"#)
    let same = try digest(#"{"custom_fields":{"b":"2","a":"1"},"message":"a\u000ab\u0009c", "title":"t"}"#)
    #expect(one == same)
    var seen: Set<[UInt8]> = []
    for text in [
      #"{"title":"t"}"#, #"{"title":"t","message":"m"}"#, #"{"title":"t","group_key":"m"}"#,
      #"{"title":"t","priority":"LOW"}"#, #"{"title":"t","priority":"HIGH"}"#,
      #"{"title":"t","related_channels":["a"]}"#, #"{"title":"t","related_channels":["a","b"]}"#,
      #"{"title":"t","user_name":"Ann"}"#, #"{"title":"t","user_name":"Bob"}"#,
      #"{"title":"t","custom_fields":{"a":"b"}}"#, #"{"title":"t","custom_fields":{"a":"c"}}"#,
    ] {
      #expect(seen.insert(try digest(text)).inserted)
    }
  }
}
