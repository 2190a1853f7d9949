// An appointment that a revocation has ended.

/// An appointment that ended with its installation, and its sealed content, which the store has wiped.
public struct EndedAppointment: Hashable, Sendable {
  /// Its record.
  public let record: StoredCallback
  /// What it held: the allowances to be given back.
  public let content: [UInt8]
}
