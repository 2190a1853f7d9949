// Explains connection failures in plain words for the output of commands.

package import HTTP

extension TransportError {
  /// The failure, without a library's names and codes; those are in `detail`, for the log.
  /// - Parameter name: The host, or the reader's name for it.
  package func words(about name: String) -> String {
    if let diagnosis {
      return diagnosis.explained(as: diagnosis.party == .proxy ? "the proxy" : name).found
    }
    return switch reason {
    case .invalidURL: detail
    case .nameResolution: "\(name) has no address"
    case .connect: "\(name) cannot be reached"
    case .tls: "no TLS connection to \(name) could be made"
    case .timedOut: "\(name) did not respond in time"
    case .connectionLost: "\(name) closed the connection before its response was complete"
    case .malformedResponse: "the response of \(name) is not HTTP"
    case .responseTooLarge: "the response of \(name) is too large"
    case .cancelled: "the request was cancelled"
    case .overloaded: "too many requests are waiting for \(name)"
    }
  }
}
