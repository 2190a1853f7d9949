// An appointment that ended because its installation was revoked or replaced.

public import Gate

/// An appointment that ended because its installation was revoked or replaced.
public struct EndedAppointment: Sendable {
  public let record: StoredCallback
  /// The allowances that the transaction gave back when the appointment ended. Nil if its content could not
  /// be opened: then the allowances stay used.
  public let returned: [AllowanceReceipt]?
}

/// Reads the allowances that an appointment has taken from its sealed content. Returns nil if the content
/// cannot be opened.
public typealias ReceiptReader = @Sendable (CallbackID, _ content: [UInt8]) -> [KeptReceipt]?
