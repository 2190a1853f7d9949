// The reasons why a transport cannot be made.

public import Platform

/// The reason why no transport could be made.
public enum TransportSetupError: Error, Sendable, CustomStringConvertible {
  /// libcurl lacks a feature or failed to start.
  case library(String)
  /// The file of trusted certificates cannot be read.
  case unreadableCAFile(path: String, SystemError)
  /// A proxy variable of the environment cannot be used.
  case proxy(ProxySettings.Malformed)

  public var description: String {
    switch self {
    case .library(let words): "libcurl: \(words)"
    case .unreadableCAFile(let path, let error): "\(path): \(error)"
    case .proxy(let malformed): "\(malformed)"
    }
  }
}
