// Explains connection failures in plain words for the output of commands.

package import HTTP

extension TransportError {
  /// The failure, without a library's names and codes; those are in `detail`, for the log.
  /// - Parameter name: The host, or the reader's name for it.
  package func words(about name: String) -> String {
    if let diagnosis {
      return diagnosis.explained(as: diagnosis.party == .proxy ? "the proxy" : name).found
    }
    return reason == .invalidURL ? detail : reason.words(about: name)
  }
}
