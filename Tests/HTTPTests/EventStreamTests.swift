// Tests of the reader of server-sent events.

import HTTP
import Testing

struct EventStreamTests {
  private func events(_ pieces: [String]) throws -> [String] {
    var reader = EventStreamReader()
    var found: [String] = []
    for piece in pieces {
      found += try reader.take(Array(piece.utf8)).map {
        "\($0.name):\(String(decoding: $0.data, as: UTF8.self))"
      }
    }
    return found
  }

  @Test(
    arguments: [
      ("data: 1\n\n", ["message:1"]),
      ("event:result\ndata:{\"a\":1}\n\n", ["result:{\"a\":1}"]),
      ("event: result\r\ndata:  two\r\n\r\n", ["result: two"]),
      ("data: a\rdata: b\r\r", ["message:a\nb"]),
      ("\u{FEFF}data: 1\n\n", ["message:1"]),
      (": comment\nid: 7\nretry: 1\ndata\n\n", ["message:"]),
      ("event: only\n\ndata: 1\n\n", ["message:1"]),
      ("data: cut off\n", []), ("data: 1", []), ("\n\n\n", []), ("", []),
      ("event: error\ndata: {\"message\"=>\"no\"}\n\n", ["error:{\"message\"=>\"no\"}"]),
    ])
  func `events are read as the specification says`(stream: String, expected: [String]) throws {
    #expect(try events([stream]) == expected)
    // However the network cuts it.
    var reader = EventStreamReader()
    var found: [StreamedEvent] = []
    for byte in Array(stream.utf8) { found += try reader.take([byte]) }
    #expect(found.map { "\($0.name):\(String(decoding: $0.data, as: UTF8.self))" } == expected)
  }

  @Test func `a line and an event have a longest length`() throws {
    let most = EventStreamReader.mostBytes
    var reader = EventStreamReader()
    #expect(throws: Never.self) { try reader.take([UInt8](repeating: 0x3A, count: most)) }
    #expect(throws: EventStreamReader.TooLong.self) { try reader.take([0x3A]) }
    var lines = EventStreamReader()
    let half = Array(("data:" + String(repeating: "x", count: most / 2 - 1) + "\n").utf8)
    #expect(try lines.take(half + half).isEmpty)
    #expect(try lines.take(Array("data:\n".utf8)).isEmpty)
    #expect(throws: EventStreamReader.TooLong.self) { try lines.take(Array("data:\n".utf8)) }
  }
}
