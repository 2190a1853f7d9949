/// A response serialized once and sent many times. The server adds only `Date`, `X-Request-Id`, `Connection`,
/// and fields that depend on the request or are the same for all responses.
public struct PreparedResponse: Sendable {
  /// The status line, `Content-Length` (except for 204 and 304) and the response's fields, each line with its
  /// CR LF. The server adds the other fields, the empty line and the content.
  public let lines: [UInt8]
  public let content: [UInt8]
  public let status: Status
  /// Whether the connection closes once the response is sent.
  public let closesConnection: Bool
  /// Whether the content outlives the response and is the same for all clients. A response that waits for its
  /// client then needs no copy.
  public let isShared: Bool

  /// Serializes a response. A response that must not be written becomes an empty 500, because a wrong
  /// response harms less than a split one (RFC 9110 §5.5). That is a response with a field name that is not a
  /// token, a control octet in a value or in the reason phrase, a field that the server writes itself, a
  /// status outside 200–599, or content in a 204 or 304.
  ///
  /// - Parameter isShared: Whether the content outlives the response and is the same for all clients.
  public init(_ response: Response, isShared: Bool = false) {
    self.isShared = isShared
    var lines: [UInt8] = []
    if Self.append(response, to: &lines) {
      content = response.content
      status = response.status
      closesConnection = response.closesConnection
    } else {
      lines.removeAll()
      content = []
      status = .internalServerError
      closesConnection = true
      _ = Self.append(Response(status: .internalServerError), to: &lines)
    }
    self.lines = lines
  }

  /// The same response with further fields. If one of them must not be written, the response becomes an empty
  /// 500, as in `init`.
  public func adding(_ fields: Fields) -> PreparedResponse {
    var lines = lines
    guard Self.append(fields, to: &lines) else {
      return PreparedResponse(Response(status: .internalServerError, closesConnection: true))
    }
    return PreparedResponse(self, lines: lines)
  }

  /// The same response with other content of the same length.
  public func replacingContent(_ content: [UInt8]) -> PreparedResponse {
    precondition(content.count == self.content.count, "the length stands in a field")
    return PreparedResponse(self, lines: lines, content: content)
  }

  private init(_ other: PreparedResponse, lines: [UInt8], content: [UInt8]? = nil) {
    self.lines = lines
    self.content = content ?? other.content
    status = other.status
    closesConnection = other.closesConnection
    isShared = content == nil && other.isShared
  }

  /// Appends the status line and the fields. Returns false, with the output in any state, if the response
  /// must not be written.
  static func append(_ response: Response, to output: inout [UInt8]) -> Bool {
    let status = response.status
    guard (200...599).contains(status.code), isValue(status.reason) else { return false }
    output.append(literal: "HTTP/1.1 ")
    output.append(decimal: status.code)
    output.append(0x20)
    output.append(contentsOf: status.reason.utf8)
    output.append(literal: "\r\n")
    // A 204 or 304 has no content, and the server sends it without a length (RFC 9110 §8.6).
    if status.code == 204 || status.code == 304 {
      guard response.content.isEmpty else { return false }
    } else {
      output.append(literal: "Content-Length: ")
      output.append(decimal: response.content.count)
      output.append(literal: "\r\n")
    }
    return append(response.fields, to: &output)
  }

  /// Appends field lines. Returns false, with the output in any state, if one of them must not be written.
  static func append(_ fields: Fields, to output: inout [UInt8]) -> Bool {
    for line in fields.lines {
      guard isName(line.name), !isServers(line.name), isValue(line.value) else { return false }
      output.append(contentsOf: line.name.utf8)
      output.append(literal: ": ")
      output.append(contentsOf: line.value.utf8)
      output.append(literal: "\r\n")
    }
    return true
  }

  private static func isName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { OctetSet.token.contains($0) }
  }

  /// Whether a value has no control octet other than the tab: CR, LF or NUL in a value could split a
  /// response.
  private static func isValue(_ value: String) -> Bool {
    value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }

  /// Whether the server writes the field itself.
  private static func isServers(_ name: String) -> Bool {
    switch name.utf8.count {
    case 4, 10, 12, 14, 17:
      // Our text: the fields of an answer.
      switch name.lowercased() {
      case "date", "connection", "x-request-id", "content-length", "transfer-encoding": true
      default: false
      }
    default: false
    }
  }
}

extension Response {
  /// Appends the status line and all field lines except the server's own; the rules of `PreparedResponse`
  /// apply here too. Returns false if the response must not be written, and leaves the output unchanged.
  public func appendLines(to output: inout [UInt8]) -> Bool {
    let start = output.count
    if PreparedResponse.append(self, to: &output) { return true }
    output.removeSubrange(start...)
    return false
  }
}
