// Reads the `Idempotency-Key` header, with which a client marks a retry for the same callback or ticket.

package import API
package import HTTP

/// The `Idempotency-Key` of a request (draft-ietf-httpapi-idempotency-key-header): the client's name for one
/// intended callback or ticket. A request with the same key is a retry, not another one.
///
/// The draft requires a structured-field string, in quotation marks. Most clients send the bare text. Both
/// mean the same key.
package struct IdempotencyKey: Hashable, Sendable {
  /// The longest key, in characters.
  static let maximumLength = 255

  /// The key without quotation marks: 1–255 characters of printable ASCII.
  package let text: String

  /// Reads the value of `Idempotency-Key`; nil without the header. The HTTP parser refuses a second header
  /// line as malformed.
  ///
  /// - Throws: `invalid_request`, because an invalid key must not count as a missing key.
  package static func read(_ value: String?) throws(Problem) -> IdempotencyKey? {
    guard let value else { return nil }
    let text: String
    if value.utf8.first == UInt8(ascii: "\"") {
      guard let unquoted = unquoted(value) else {
        throw problem("In quotation marks, use printable ASCII and escape only \\\" and \\\\.")
      }
      text = unquoted
    } else {
      guard value.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"\\,;".utf8.contains($0) }) else {
        throw problem(
          "Use printable ASCII without spaces, commas, semicolons, quotes and backslashes, such as a UUID.")
      }
      text = value
    }
    guard (1...maximumLength).contains(text.utf8.count) else {
      throw problem("Use 1 to \(maximumLength) characters.")
    }
    return IdempotencyKey(text: text)
  }

  /// The text of an sf-string (RFC 9651 §4.2.5) without parameters.
  private static func unquoted(_ value: String) -> String? {
    let octets = Array(value.utf8)
    guard octets.count >= 2, octets.last == UInt8(ascii: "\"") else { return nil }
    var text: [UInt8] = []
    var isEscaped = false
    for octet in octets.dropFirst().dropLast() {
      guard (0x20...0x7E).contains(octet) else { return nil }
      let isSpecial = octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "\\")
      if isEscaped {
        guard isSpecial else { return nil }
        text.append(octet)
        isEscaped = false
      } else if octet == UInt8(ascii: "\\") {
        isEscaped = true
      } else {
        guard !isSpecial else { return nil }
        text.append(octet)
      }
    }
    return isEscaped ? nil : String(decoding: text, as: UTF8.self)
  }

  private static func problem(_ description: String) -> Problem {
    .invalid([.init(name: "Idempotency-Key", description: description)])
  }
}

extension IdempotencyKey {
  /// Reads a request's content and its key. Reports everything that is wrong with either in one problem. A
  /// wrong media type, and content that is too large or not JSON, are reported alone.
  ///
  /// - Parameters:
  ///   - converted: The content of another API (GMS) as JSON, or the problem with it. Its media type is
  ///     already checked.
  ///   - content: Reads the content.
  ///   - laterFaults: Problems that a later step would find in this content. The response to an invalid key
  ///     lists them, too.
  package static func read<Content>(
    with request: borrowing Request,
    converted: Result<[UInt8], Problem>? = nil,
    _ content: ([UInt8]) throws(Problem) -> Content,
    laterFaults: (Content) -> [Problem.FieldProblem] = { _ in [] }
  ) throws(Problem) -> (Content, IdempotencyKey?) {
    if converted == nil { try JSONContent.check(request) }
    var key: IdempotencyKey?
    var keyProblem: Problem?
    do throws(Problem) {
      key = try read(request.value(of: .idempotencyKey).map(request.string))
    } catch {
      keyProblem = error
    }
    do throws(Problem) {
      let asked = try content(try converted?.get() ?? request.content)
      if var keyProblem {
        keyProblem.add(laterFaults(asked), first: true)
        throw keyProblem
      }
      return (asked, key)
    } catch {
      var problem = error
      if problem.code == .invalidRequest, let keyProblem, !problem.fields.contains(keyProblem.fields) {
        problem.add(keyProblem.fields)
      }
      throw problem
    }
  }
}
