// Measures how fast the server parses requests and serialises responses, without a socket.

import HTTP

/// Parsing requests and writing answers, without a socket.
enum HTTPFigures {
  private static let small = Array("GET /access HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n".utf8)

  /// What an Android phone sends behind a platform's router.
  private static let usual = Array(
    ("GET /access HTTP/1.1\r\nHost: acme-gate.example.com\r\nConnection: close\r\n"
      + "Authorization: Basic aW9zLWFwcDpjb3JyZWN0LWhvcnNlLWJhdHRlcnktc3RhcGxl\r\nAccept: */*\r\n"
      + "Accept-Encoding: gzip\r\nUser-Agent: okhttp/4.12.0\r\nX-App-Version: 2.3.0\r\n"
      + "X-Request-Id: 7d0f3f54-2f0a-4a5c-8d2e-6f6a2f3f9f11\r\nX-Forwarded-For: 203.0.113.9\r\n"
      + "X-Forwarded-Port: 443\r\nX-Forwarded-Proto: https\r\nVia: 1.1 vegur\r\n\r\n").utf8)

  static func measure(seconds: Double) -> [Figure] {
    [
      .nanoseconds("HTTP, parsing a request of \(small.count) bytes", rate: parsing(small, seconds)),
      .nanoseconds("HTTP, parsing one of \(usual.count) bytes in 12 fields", rate: parsing(usual, seconds)),
    ]
  }

  private static func parsing(_ octets: [UInt8], _ seconds: Double) -> Double {
    var parser = RequestParser()
    var request = Request()
    return Stopwatch.rate(seconds: seconds) {
      var offset = 0
      let progress = parser.parse(octets.span, from: &offset, into: &request)
      guard case .complete = progress, offset == octets.count else {
        preconditionFailure("the benchmark's own request was refused")
      }
      keep(request.fieldLines.count)
    }
  }
}
