// Which of the two forms of a token an `Accept` field asks for (RFC 9110 §12.5.1).

/// The answer forms of `GET /access`.
enum TokenForm: Equatable {
  case text
  case json

  /// JSON where `application/json` is named and is wanted at least as much as plain text; otherwise text, which is
  /// what Talkdesk's SDK pages describe.
  init(accept: [String]) {
    var json: Double?
    var text: [(specificity: Int, quality: Double)] = []
    for element in accept.joined(separator: ",").split(separator: ",").prefix(32) {
      let parts = element.split(separator: ";").map { $0.trimmed.lowercased() }
      guard let type = parts.first else { continue }
      var quality = 1.0
      for parameter in parts.dropFirst() where parameter.hasPrefix("q=") {
        quality = Self.quality(parameter.dropFirst(2)) ?? 1
      }
      switch type {
      case "application/json": json = max(json ?? 0, quality)
      case "text/plain": text.append((2, quality))
      case "text/*": text.append((1, quality))
      case "*/*": text.append((0, quality))
      default: break
      }
    }
    // The most specific range decides for a type.
    let textQuality = text.max { $0.specificity < $1.specificity }?.quality ?? 0
    self = json.map { $0 > 0 && $0 >= textQuality } == true ? .json : .text
  }

  /// `0`–`1` with up to three decimals; nil for anything else.
  private static func quality(_ text: Substring) -> Double? {
    guard text.utf8.count <= 5, text.utf8.allSatisfy({ $0 == 0x2E || (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Double(text).flatMap { $0 <= 1 ? $0 : nil }
  }
}

extension Substring {
  /// Without spaces and tabs round it.
  var trimmed: Substring {
    let start = drop { $0 == " " || $0 == "\t" }
    guard let end = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else {
      return start[start.startIndex..<start.startIndex]
    }
    return start[...end]
  }
}
