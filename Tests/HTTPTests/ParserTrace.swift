// Records the parser's results, so that tests can compare how a stream parses in different pieces.

import HTTP

/// The result of parsing a stream of bytes, in a form that can be compared.
struct ParserTrace: Equatable, CustomStringConvertible {
  struct Parsed: Equatable {
    var line: String
    var fields: [String]
    var content: String
    var closes: Bool
  }

  enum End: Equatable {
    /// All bytes were consumed. The phase says what is pending.
    case open(String)
    case failed(ParseFailure)
  }

  var requests: [Parsed] = []
  var end = End.open("idle")

  var description: String { "\(requests) \(end)" }

  /// Parses bytes that are cut at the given offsets, each segment in as many calls as it takes.
  init(_ octets: [UInt8], cutAt cuts: [Int] = [], limits: MessageLimits = MessageLimits()) {
    var parser = RequestParser(limits: limits)
    var request = Request()
    var start = 0
    for cut in cuts + [octets.count] {
      let segment = Array(octets[start..<cut])
      start = cut
      var offset = 0
      feeding: while true {
        switch parser.parse(segment.span, from: &offset, into: &request) {
        case .complete: requests.append(Self.parsed(request))
        case .incomplete:
          precondition(offset == segment.count, "incomplete with octets left")
          break feeding
        case .failed(let failure):
          end = .failed(failure)
          return
        }
        if offset == segment.count { break }
      }
    }
    end = .open("\(parser.phase)")
  }

  private static func parsed(_ request: Request) -> Parsed {
    let query = request.query.map { "?" + request.string($0) } ?? ""
    return Parsed(
      line: "\(request.method) \(request.string(request.path))\(query) \(request.version)",
      fields: request.fieldLines.map { "\(request.string($0.name))=\(request.string($0.value))" },
      content: String(decoding: request.content, as: UTF8.self), closes: request.closesConnection)
  }
}

/// The first result that differs from that of the whole stream, for every cut in two and for single bytes;
/// nil if none does.
func segmentationMatters(_ octets: [UInt8], limits: MessageLimits = MessageLimits()) -> String? {
  let whole = ParserTrace(octets, limits: limits)
  for cut in 0...octets.count {
    let trace = ParserTrace(octets, cutAt: [cut], limits: limits)
    if trace != whole { return "cut at \(cut): \(trace) instead of \(whole)" }
  }
  let trace = ParserTrace(octets, cutAt: Array(0...octets.count), limits: limits)
  return trace == whole ? nil : "octet by octet: \(trace) instead of \(whole)"
}

func octets(_ text: String) -> [UInt8] {
  // Texts of the tables are Latin-1, so that any octet can be written.
  text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}
