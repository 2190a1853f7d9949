// An appointment that a revocation has ended.

public import Gate

/// An appointment that ended with its installation.
public struct EndedAppointment: Sendable {
  public let record: StoredCallback
  /// The allowances that it gave back in the transaction that ended it; nil if its content could not be opened. Then they stay used.
  public let returned: [AllowanceReceipt]?
}

/// Reads in the sealed content of an appointment which allowances it has taken; nil if the content cannot be
/// opened.
public typealias ReceiptReader = @Sendable (CallbackID, _ content: [UInt8]) -> [KeptReceipt]?
