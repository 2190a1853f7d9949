// The reasons why a server does not start, and whether waiting or another configuration helps.

public import Platform
public import Stores

/// The reason why a server could not be created or started.
public enum StartError: Error, Sendable, CustomStringConvertible {
  /// The address cannot be listened on: taken, not this machine's, or not allowed.
  case listen(host: String, port: UInt16, SystemError)
  /// The upstream client cannot be created.
  case upstream(String)
  /// The audit file cannot be opened.
  case audit(path: String, SystemError)
  /// The store cannot be opened, brought up to date or read, or the configured store keys do not fit it.
  case store(kind: String, StoreFailure)

  /// Whether the start could succeed at another time, or on another address.
  public var isUnavailable: Bool {
    switch self {
    case .listen: true
    case .store(_, let failure): failure.isTemporary
    case .upstream, .audit: false
    }
  }

  /// Whether the store is a database that does not respond. The server waits for it.
  var isStoreAway: Bool { if case .store(_, let failure) = self { failure.isAway } else { false } }

  /// The mistakes in the configuration itself, one line each.
  public var configurationProblems: [String] {
    switch self {
    case .store(let kind, let failure) where !failure.isTemporary: ["store: \(kind): \(failure)"]
    case .audit(let path, let error): ["log.audit.file: \(path) cannot be opened: \(error)"]
    case .listen, .store, .upstream: []
    }
  }

  public var description: String {
    switch self {
    case .listen(let host, let port, let error):
      "cannot listen on \(host) port \(port): \(error)"
        + (error.isAddressInUse
          ? " — end the program that uses it, or choose another port: --port, or admin.port" : "")
    case .audit(let path, let error): "the audit file \(path) cannot be opened: \(error)"
    case .store(let kind, let failure): "the database (\(kind)) cannot be used: \(failure)"
    case .upstream(let reason): "the HTTP client cannot be created: \(reason)"
    }
  }
}
