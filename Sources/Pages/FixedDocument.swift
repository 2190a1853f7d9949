// A document that is prepared once and served with an entity tag.

package import HTTP
import JOSE

/// A document that is made once and sent many times. If a client already has the newest version, the response
/// is 304 (RFC 9110 §13.1.2).
package struct FixedDocument: Sendable {
  let entityTag: String
  private let whole: PreparedResponse
  private let unchanged: PreparedResponse

  /// - Parameter fields: The fields of the whole response, without those about caching.
  package init(fields: Fields, content: [UInt8]) {
    entityTag = "\"\(Hex.encode(SHA256.digest(content)).prefix(32))\""
    // Browsers may store the document, but must ask each time whether it has changed: another version of the
    // program, or another configuration, may describe itself differently.
    let keeping: Fields = ["Cache-Control": "no-cache", "ETag": entityTag]
    var all = fields
    for line in keeping.lines { all.append(line.name, line.value) }
    whole = PreparedResponse(Response(status: .ok, fields: all, content: content), isShared: true)
    unchanged = PreparedResponse(Response(status: .notModified, fields: keeping))
  }

  /// A style sheet or a script of a page.
  /// - Parameter type: The media type without the character set, which is UTF-8.
  package static func file(_ type: String, _ content: [UInt8]) -> FixedDocument {
    FixedDocument(fields: ["Content-Type": "\(type); charset=utf-8"], content: content)
  }

  /// The response to a GET or HEAD.
  package func answer(to request: borrowing Request) -> PreparedResponse {
    for value in request.values(of: .ifNoneMatch) {
      for tag in request.head[value].elements() {
        // If-None-Match uses the weak comparison.
        let strong = tag.starts(with: "W/".utf8) ? tag.dropFirst(2) : tag
        if tag.elementsEqual("*".utf8) || strong.elementsEqual(entityTag.utf8) { return unchanged }
      }
    }
    return whole
  }
}
