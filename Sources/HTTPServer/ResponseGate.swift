// Holds responses back until it is known that they may leave.

public import HTTP

/// The condition of a request's success: its response leaves only after this was asked.
public struct ResponseGate: Sendable {
  /// Calls the function once, from any thread, with whether the response may leave.
  let ask: @Sendable (@escaping @Sendable (Bool) -> Void) -> Void
  /// The response in place of one that may not leave.
  let refusal: @Sendable (RequestID) -> Response

  /// A gate.
  public init(
    ask: @escaping @Sendable (@escaping @Sendable (Bool) -> Void) -> Void,
    refusal: @escaping @Sendable (RequestID) -> Response
  ) {
    self.ask = ask
    self.refusal = refusal
  }

  /// Refusals hold no secret, so they leave at once.
  static func holds(_ status: Status) -> Bool { (200..<300).contains(status.code) }
}
