// Checks that a request declares its content as JSON, a merge patch or a form, in UTF-8 and without a coding.

package import HTTP

/// Checks of `Content-Type` and `Content-Encoding`, and of the announced length.
package enum JSONContent {
  /// Checks the value of `Content-Type`, at most one in a well-formed message, and those of all
  /// `Content-Encoding` lines. A missing type is refused as well, because a page of another site can post a
  /// form without one (CORS).
  ///
  /// - Throws: `unsupported_media_type`.
  package static func check(type: ArraySlice<UInt8>?, encodings: [ArraySlice<UInt8>] = []) throws(Problem) {
    guard encodings.allSatisfy({ $0.equals(lowercase: "identity") }) else {
      throw Problem(.unsupportedMediaType, "Send the body without Content-Encoding.")
    }
    guard let type else {
      throw Problem(.unsupportedMediaType, "Send Content-Type: application/json.")
    }
    // Nearly every client sends exactly this type.
    guard
      type.equals(lowercase: "application/json")
        || (type.count <= 256 && isText(type, of: "application/json"))
    else {
      throw Problem(
        .unsupportedMediaType, "Send Content-Type: application/json. The only allowed charset is utf-8.")
    }
  }

  /// Checks that a request's content is declared as JSON.
  package static func check(_ request: borrowing Request) throws(Problem) {
    try check(
      type: request.value(of: .contentType).map { [head = request.head] in head[$0] },
      encodings: request.values(of: .contentEncoding).map { [head = request.head] in head[$0] })
  }

  /// Checks that content is declared as a merge patch (RFC 7396), or as JSON.
  ///
  /// - Throws: `unsupported_media_type`.
  package static func checkPatch(type: ArraySlice<UInt8>?, encodings: [ArraySlice<UInt8>] = [])
    throws(Problem)
  {
    if let type, type.count <= 256, encodings.allSatisfy({ $0.equals(lowercase: "identity") }),
      isText(type, of: "application/merge-patch+json")
    {
      return
    }
    do throws(Problem) {
      try check(type: type, encodings: encodings)
    } catch {
      var problem = error
      problem.detail =
        "Send Content-Type: application/merge-patch+json or application/json, without Content-Encoding. The only allowed charset is utf-8."
      throw problem
    }
  }

  /// Whether a request's content is a form (`application/x-www-form-urlencoded`), for endpoints that accept
  /// JSON and forms.
  ///
  /// - Throws: `unsupported_media_type` for any type except a form and JSON.
  package static func isForm(type: ArraySlice<UInt8>?, encodings: [ArraySlice<UInt8>] = []) throws(Problem)
    -> Bool
  {
    if let type, type.count <= 256, encodings.allSatisfy({ $0.equals(lowercase: "identity") }),
      isText(type, of: "application/x-www-form-urlencoded")
    {
      return true
    }
    do throws(Problem) {
      try check(type: type, encodings: encodings)
      return false
    } catch {
      var problem = error
      problem.detail =
        "Send Content-Type: application/json or application/x-www-form-urlencoded, without Content-Encoding. The only allowed charset is utf-8."
      throw problem
    }
  }

  /// Refuses JSON that is declared as a form. Clients that write JSON often keep their library's default
  /// type. The server would then read a form with one long parameter name.
  ///
  /// - Throws: `invalid_request` for a JSON object or array.
  package static func refuseJSON(inForm content: [UInt8]) throws(Problem) {
    let ends: [UInt8: UInt8] = [UInt8(ascii: "{"): UInt8(ascii: "}"), UInt8(ascii: "["): UInt8(ascii: "]")]
    guard let first = content.first(where: { $0 > 0x20 }), let end = ends[first],
      content.last(where: { $0 > 0x20 }) == end
    else { return }
    throw Problem(
      .invalidRequest,
      "The body is JSON, and Content-Type says that it is a form. Send Content-Type: application/json.")
  }

  /// Whether a request's content is declared as a form.
  package static func isForm(_ request: borrowing Request) throws(Problem) -> Bool {
    try isForm(
      type: request.value(of: .contentType).map { [head = request.head] in head[$0] },
      encodings: request.values(of: .contentEncoding).map { [head = request.head] in head[$0] })
  }

  /// Checks that a request's content is declared as a merge patch.
  package static func checkPatch(_ request: borrowing Request) throws(Problem) {
    try checkPatch(
      type: request.value(of: .contentType).map { [head = request.head] in head[$0] },
      encodings: request.values(of: .contentEncoding).map { [head = request.head] in head[$0] })
  }

  /// Refuses a request whose head announces more content than a limit.
  ///
  /// - Parameter limit: The maximum number of bytes.
  /// - Throws: `content_too_large`.
  package static func checkLength(_ request: borrowing Request, atMost limit: Int) throws(Problem) {
    guard request.announcedLength ?? 0 <= limit else { throw .contentTooLarge(limit) }
  }

  /// Whether a type is the given one in UTF-8. Other parameters are allowed (RFC 9110 §8.3.1), and `charset`
  /// at most once.
  private static func isText(_ octets: ArraySlice<UInt8>, of type: StaticString) -> Bool {
    let (parts, isUnended) = octets.parts(separatedBy: UInt8(ascii: ";"))
    guard !isUnended, parts[0].trimmed.equals(lowercase: type) else { return false }
    var hasCharset = false
    for part in parts.dropFirst().map(\.trimmed) where !part.isEmpty {
      guard let equals = part.firstIndex(of: UInt8(ascii: "=")), isToken(part[..<equals]) else {
        return false
      }
      guard let value = value(part[(equals + 1)...]) else { return false }
      guard part[..<equals].equals(lowercase: "charset") else { continue }
      guard !hasCharset, value.equals(lowercase: "utf-8") else { return false }
      hasCharset = true
    }
    return true
  }

  /// A parameter's value without quotation marks and escapes; nil if it is malformed.
  private static func value(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    if isToken(octets) { return octets }
    let quote = UInt8(ascii: "\"")
    guard octets.count >= 2, octets.first == quote, octets.last == quote else { return nil }
    var value: [UInt8] = []
    var isEscaped = false
    for octet in octets.dropFirst().dropLast() {
      if !isEscaped, octet == UInt8(ascii: "\\") {
        isEscaped = true
        continue
      }
      guard isEscaped || octet != quote else { return nil }
      value.append(octet)
      isEscaped = false
    }
    return isEscaped ? nil : value[...]
  }

  private static func isToken(_ octets: ArraySlice<UInt8>) -> Bool {
    !octets.isEmpty
      && octets.allSatisfy { octet in
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(octet)
        }
      }
  }
}
