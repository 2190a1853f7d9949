// Tests of responses that are serialized once and sent many times.

import HTTP
import Testing

private func lines(_ response: Response) -> String {
  String(decoding: PreparedResponse(response).lines, as: UTF8.self)
}

@Test func `a response is its status line, its length and its fields in order`() {
  let response = Response(
    status: .created, fields: ["Content-Type": "text/plain", "X-B": "\tv\u{FC}"], content: Array("hello".utf8)
  )
  #expect(
    lines(response)
      == "HTTP/1.1 201 Created\r\nContent-Length: 5\r\nContent-Type: text/plain\r\nX-B: \tv\u{FC}\r\n")
  var output = octets("before")
  #expect(response.appendLines(to: &output))
  #expect(String(decoding: output, as: UTF8.self) == "before" + lines(response))
}

@Test func `an answer without content has a length unless it can have none`() {
  #expect(lines(Response(status: .ok)) == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")
  #expect(lines(Response(status: .noContent)) == "HTTP/1.1 204 No Content\r\n")
  #expect(lines(Response(status: Status(304, "Not Modified"))) == "HTTP/1.1 304 Not Modified\r\n")
}

private let unwritable: [Response] =
  ["a\r\nb", "a\nb", "a\rb", "a\0b", "a\u{7F}", "a\u{1B}"].map { Response(status: .ok, fields: ["X": $0]) }
  + [
    "", "a b", "a:", "a\r\nb", "\u{FC}", "Date", "content-length", "CONNECTION", "X-Request-ID",
    "Transfer-Encoding",
  ]
  .map { Response(status: .ok, fields: [$0: "v"]) }
  + [
    Response(status: Status(99, "Low")), Response(status: Status(600, "High")),
    Response(status: Status(101, "Switch")),
    Response(status: Status(200, "O\r\nK")), Response(status: .noContent, content: [1]),
  ]

@Test(arguments: unwritable) func `a response that could be read as two is not written`(response: Response) {
  var output = octets("before")
  #expect(!response.appendLines(to: &output))
  #expect(output == octets("before"))
  let prepared = PreparedResponse(response)
  #expect(prepared.status == .internalServerError)
  #expect(prepared.content.isEmpty)
  #expect(prepared.closesConnection)
  #expect(lines(response) == "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n")
}

@Test func `content of the same length takes the place of the first, under the same lines`() async {
  let first = PreparedResponse(
    Response(status: .ok, fields: ["Content-Type": "text/plain"], content: Array("first".utf8)))
  let second = first.replacingContent(Array("other".utf8))
  #expect(
    String(decoding: second.lines, as: UTF8.self)
      == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n")
  #expect(second.content == Array("other".utf8))
  #expect(second.status == .ok)
  await #expect(processExitsWith: .failure) {
    _ = PreparedResponse(Response(status: .ok, content: [1])).replacingContent([1, 2])
  }
}
