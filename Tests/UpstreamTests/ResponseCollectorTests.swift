// Tests of the size limits on responses and of malformed header lines.

import HTTP
import Testing

@testable import Upstream

/// Cases that tests with a real upstream do not reach, above all the limits at n and n + 1.
@Suite struct ResponseCollectorTests {
  private func collector(_ lines: [String], header: Int = 1000, content: Int = 10) throws -> ResponseCollector
  {
    var collector = ResponseCollector(maximumHeaderLength: header, maximumContentLength: content)
    for line in lines { try collector.receiveLine(line.utf8) }
    return collector
  }

  @Test func `fields are taken up to the limit, interim answers and trailers included`() throws {
    let lines = ["HTTP/1.1 100 Continue\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n", "T: r\r\n"]
    let length = lines.joined().utf8.count
    #expect(try collector(lines, header: length).finish().fields.lines.map(\.name) == ["A"])
    #expect(throws: ResponseCollector.Fault.tooLarge("more than \(length - 1) octets of fields")) {
      try collector(lines, header: length - 1)
    }
  }

  @Test func `content is taken up to the limit, in whatever pieces`() throws {
    for pieces in [[10], [4, 6], [0, 9, 1]] {
      var collector = try collector(["HTTP/1.1 200 OK\r\n", "\r\n"])
      for count in pieces { try collector.receiveContent([UInt8](repeating: 1, count: count)) }
      #expect(try collector.finish().content.count == 10)
      #expect(throws: ResponseCollector.Fault.self) { try collector.receiveContent([1]) }
    }
  }

  @Test(arguments: ["gzip", "identity, br", "x-unknown"])
  func `a reader of pieces gets no compressed content, and the head names the coding`(coding: String) throws {
    var collector = ResponseCollector(maximumHeaderLength: 1000, maximumContentLength: 10) { _ in
      Issue.record("compressed content was read")
      return true
    }
    try collector.receiveLine("HTTP/1.1 200 OK\r\n".utf8)
    try collector.receiveLine("Content-Encoding: \(coding)\r\n".utf8)
    #expect(throws: ResponseCollector.Fault.self) { try collector.receiveLine("\r\n".utf8) }
    let name = try #require(coding.split(separator: " ").last)
    #expect(collector.head?.codingFault?.contains(name) == true)
  }

  @Test(arguments: [("200 OK", "identity"), ("303 See Other", "gzip"), ("404 Not Found", "gzip")])
  func `a coding matters where the reader gets the content`(status: String, coding: String) throws {
    var collector = ResponseCollector(maximumHeaderLength: 1000, maximumContentLength: 10) { _ in true }
    for line in ["HTTP/1.1 \(status)\r\n", "Content-Encoding: \(coding)\r\n", "\r\n"] {
      try collector.receiveLine(line.utf8)
    }
    try collector.receiveContent([1])
    #expect(try collector.finish().status == Int(status.prefix(3)))
  }

  @Test func `content before the fields' end is refused`() throws {
    var collector = try collector(["HTTP/1.1 200 OK\r\n"])
    #expect(throws: ResponseCollector.Fault.self) { try collector.receiveContent([1]) }
  }

  @Test func `bare line feeds end lines, equal lengths may repeat and values lose their white space`() throws
  {
    let response = try collector([
      "HTTP/1.1 204\n", "Content-Length: 0\n", "content-length:0\n", "A:\t x y \t\n", "B:\n", "\n",
    ]).finish()
    #expect(response.status == 204)
    #expect(response.fields["A"] == "x y")
    #expect(response.fields["B"] == "")
  }

  @Test func `an octet that is not UTF-8 does not break a field`() throws {
    var collector = ResponseCollector(maximumHeaderLength: 100, maximumContentLength: 0)
    try collector.receiveLine("HTTP/1.1 200 OK\r\n".utf8)
    try collector.receiveLine(Array("A: x".utf8) + [0xE9] + Array("\r\n".utf8))
    try collector.receiveLine("\r\n".utf8)
    #expect(try collector.finish().fields["A"] == "x\u{FFFD}")
  }

  @Test(arguments: [
    "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1  200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 2x0 OK",
    "HTTP/1.1 +20 OK", "HTTP/2.0 200 OK", "HTTP/1.1 099 Low", "HTTP/1.1 600 High", "http/1.1 200 OK",
    "200 OK", "",
  ])
  func `a malformed status line is refused`(line: String) {
    #expect(throws: ResponseCollector.Fault.self) { try collector([line + "\r\n"]) }
  }

  @Test(arguments: [
    ("HTTP/2 200 ", true), ("HTTP/2 410", true), ("HTTP/1.1 200 OK", true), ("HTTP/2.0 200 OK", false),
    ("HTTP/2 20 ", false), ("HTTP/2 2000", false), ("HTTP/2  200", false), ("HTTP/3 200 ", false),
  ])
  func `HTTP/2 is taken where it was offered`(line: String, isTaken: Bool) {
    var (offered, other) = (
      ResponseCollector(maximumHeaderLength: 100, maximumContentLength: 0, mayBeHTTP2: true),
      ResponseCollector(maximumHeaderLength: 100, maximumContentLength: 0)
    )
    let wasTaken = (try? offered.receiveLine("\(line)\r\n".utf8)) != nil
    #expect(wasTaken == isTaken)
    if line.hasPrefix("HTTP/2") {
      #expect(throws: ResponseCollector.Fault.self) { try other.receiveLine("\(line)\r\n".utf8) }
    }
  }

  @Test(arguments: [
    [], ["HTTP/1.1 200 OK\r\n"], ["HTTP/1.1 200 OK\r\n", "A: b\r\n"], ["HTTP/1.1 100 C\r\n", "\r\n"],
  ])
  func `an answer without its fields' end is incomplete`(lines: [String]) throws {
    let collector = try collector(lines)
    #expect(throws: ResponseCollector.Fault.incomplete("the connection ended within the fields")) {
      try collector.finish()
    }
  }
}
