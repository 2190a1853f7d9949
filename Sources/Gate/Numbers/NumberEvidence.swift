// What a request shows about its number, for the rules `own_number`, `consent` and `screened`.

/// What is known about the number of a new callback. Only new callbacks have it: a move, a dialog and a due time ask for no proof and no
/// consent again.
public struct NumberEvidence: Sendable {
  /// Whether the caller's subject has proven this number before, and not too long ago.
  public var isRemembered: Bool
  /// Whether the request has a proof. It is not judged yet.
  public var hasProof: Bool
  /// The consent in the request.
  public var consent: GivenConsent?
  /// The saved verdict on the number; nil where none is saved, or no rule asks for it.
  public var screening: ScreeningFinding?

  public init(
    isRemembered: Bool = false, hasProof: Bool = false, consent: GivenConsent? = nil,
    screening: ScreeningFinding? = nil
  ) {
    self.isRemembered = isRemembered
    self.hasProof = hasProof
    self.consent = consent
    self.screening = screening
  }
}

/// The result of looking a number up.
public enum ScreeningFinding: Sendable {
  /// Nothing speaks against the number.
  /// - Parameter isUnknown: whether the phone validation does not know it.
  case allowed(isUnknown: Bool)
  /// The setting that refuses it, below `numbers.screening`.
  case refused(setting: String)
  /// There is no result, for this reason, which is for operators.
  case failed(String)
}
