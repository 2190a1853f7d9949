// The error for a failed store operation: a kind for decisions, and the database's own words for operators.

/// A store operation that failed. It changed nothing, unless the error says that this is in doubt.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The step that fails for good, since the store's file was removed or replaced.
  package static let replacedFile = "file"
  /// The upgrade of the schema, which waits for other transactions.
  package static let upgrade = "schema"
  /// The step that fails because a pooler gives each transaction another session of the database.
  package static let pooler = "pooler"

  /// The kind of failure, for decisions.
  public enum Kind: String, CaseIterable, Sendable {
    /// It cannot be reached, is busy or shutting down. It is tried again by itself, with a back-off.
    case unavailable
    /// The data cannot be read: a damaged file, or a file that is not a store.
    case damaged
    /// It may be read and not written.
    case readOnly = "read_only"
    /// The disk is full, or a quota on it.
    case full
    /// The schema is missing, or made by a newer version of this program.
    case incompatible
    /// The user, password or permission is refused, or the database does not exist.
    case refused
    /// It cannot keep this, and nothing is wrong with it otherwise: a character its encoding has not, for instance.
    case rejected
    /// The address of the store is no address, or the path of no file.
    case misconfigured
  }

  /// The kind of failure, for decisions.
  public let kind: Kind
  /// The failed step: a call of the library or a step of ours.
  public let operation: String
  /// The library's words. They are for operators and never for callers; an address' password is not among them.
  public let message: String
  /// Whether the change may have been made, or be made yet: a connection broke while it was being committed, or the disk failed,
  /// or did not answer, when it was to keep it.
  public private(set) var isInDoubt: Bool

  /// Describes a failure.
  public init(_ kind: Kind, _ operation: String, _ message: String, isInDoubt: Bool = false) {
    self.kind = kind
    self.operation = operation
    self.message = message
    self.isInDoubt = isInDoubt
  }

  /// The same, of a change that may have been made.
  package var inDoubt: StoreError {
    var error = self
    error.isInDoubt = true
    return error
  }

  /// `unavailable: connect: connection refused`, on one line.
  public var description: String {
    let words = message.split { $0.isNewline || $0 == "\t" }.joined(separator: " ")
    return "\(kind.rawValue): \(operation): \(words)"
  }
}
