// Decides from the `Accept` header whether to return a token as text or JSON (RFC 9110 §12.5.1).

import HTTP

/// The forms of the response to `GET /access`.
package enum TokenForm: Equatable {
  case text
  case json

  /// JSON if the client names `application/json` and does not prefer plain text. Otherwise text, as
  /// Talkdesk's SDK pages describe it.
  /// - Parameter accept: The octets of the value of each `Accept` line.
  package init(accept: [ArraySlice<UInt8>]) {
    var json: Double?
    var text: [(specificity: Int, quality: Double)] = []
    for element in accept.lazy.flatMap({ $0.elements() }).prefix(32) {
      let parts = element.elements(separatedBy: UInt8(ascii: ";"))
      guard let type = parts.first else { continue }
      var quality = 1.0
      for parameter in parts.dropFirst() where parameter.starts(withLowercase: "q=") {
        quality = Self.quality(parameter.dropFirst(2)) ?? 1
      }
      if type.equals(lowercase: "application/json") {
        json = max(json ?? 0, quality)
      } else if type.equals(lowercase: "text/plain") {
        text.append((2, quality))
      } else if type.equals(lowercase: "text/*") {
        text.append((1, quality))
      } else if type.equals(lowercase: "*/*") {
        text.append((0, quality))
      }
    }
    // The most specific range decides for a type.
    let textQuality = text.max { $0.specificity < $1.specificity }?.quality ?? 0
    self = json.map { $0 > 0 && $0 >= textQuality } == true ? .json : .text
  }

  /// Reads a quality of `0`–`1` with up to three decimals; nil for anything else.
  private static func quality(_ octets: ArraySlice<UInt8>) -> Double? {
    guard octets.count <= 5, octets.allSatisfy({ $0 == 0x2E || (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Double(String(decoding: octets, as: UTF8.self)).flatMap { $0 <= 1 ? $0 : nil }
  }
}
