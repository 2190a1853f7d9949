/// A request method (RFC 9110 §9). Methods are case-sensitive; methods that this project does not use are
/// `other`.
public enum Method: String, CaseIterable, Sendable {
  case get = "GET"
  case head = "HEAD"
  case post = "POST"
  case put = "PUT"
  case delete = "DELETE"
  case options = "OPTIONS"
  case trace = "TRACE"
  case connect = "CONNECT"
  case patch = "PATCH"
  /// Any other well-formed token.
  case other = "OTHER"
}
