// The error for a failed store operation: a kind for decisions, and the database's own words for operators.

/// A store operation that failed. It changed nothing, unless the error says that this is in doubt.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The step whose failure is permanent: the store's file was removed or replaced.
  package static let replacedFile = "file"
  /// The step that upgrades the schema, and waits for other transactions.
  package static let upgrade = "schema"
  /// The step that fails if a connection pooler gives each transaction another session of the database.
  package static let pooler = "pooler"

  /// The kind of failure, for decisions.
  public enum Kind: String, CaseIterable, Sendable {
    /// The store cannot be reached, does not respond, is busy or is shutting down, or this machine's clock is
    /// wrong. The server tries again automatically, with a back-off. If the store's file was replaced or
    /// removed, or a store in memory failed, only a restart helps.
    case unavailable
    /// The data cannot be read: the file is damaged or is not a store, a value cannot be read, or PostgreSQL
    /// has an internal error.
    case damaged
    /// The store can be read but not written.
    case readOnly = "read_only"
    /// The disk, or a quota on it, is full.
    case full
    /// The schema is missing, incomplete or made by a newer version of this program, or the SQLite library is
    /// too old.
    case incompatible
    /// The user, password or permission is refused, or the database does not exist.
    case refused
    /// The store cannot save this value but works otherwise. For example, its encoding lacks a character.
    case rejected
    /// The setting cannot work: the address is malformed, the path is not that of a file in a folder, the
    /// database's encoding is not UTF-8, or a connection pooler shares sessions between transactions.
    case misconfigured
  }

  public let kind: Kind
  /// The failed step: a function of the database library, or a step of Callgate.
  public let operation: String
  /// The library's words, for operators and never for callers. They do not contain the password of the
  /// store's address.
  public let message: String
  /// Whether the change may have been made, or may still be made: the connection broke or the server did not
  /// respond during the commit, or the disk failed or did not respond during the write.
  public private(set) var isInDoubt: Bool

  public init(_ kind: Kind, _ operation: String, _ message: String, isInDoubt: Bool = false) {
    self.kind = kind
    self.operation = operation
    self.message = message
    self.isInDoubt = isInDoubt
  }

  /// The same error, for a change that may have been made.
  package var inDoubt: StoreError {
    var error = self
    error.isInDoubt = true
    return error
  }

  /// The error on one line, such as `unavailable: connect: connection refused`.
  public var description: String {
    let words = message.split { $0.isNewline || $0 == "\t" }.joined(separator: " ")
    return "\(kind.rawValue): \(operation): \(words)"
  }
}
