// The evidence about a number, for the rules `own_number`, `consent` and `screened`.

/// The evidence about the number of a new callback. Moving an appointment, answering a dialog and making a
/// due call need no second proof or consent.
public struct NumberEvidence: Sendable {
  /// Whether the caller's subject proved this number recently enough (setting `numbers.proofs.remember`).
  public var isRemembered: Bool
  /// Whether the request contains a proof, verified or not.
  public var hasProof: Bool
  /// The consent in the request.
  public var consent: GivenConsent?
  /// The saved verdict on the number. Nil if there is none, or if no rule needs it.
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
  /// No setting refuses the number.
  /// - Parameter isUnknown: Whether the phone validation does not know the number.
  case allowed(isUnknown: Bool)
  /// The setting under `numbers.screening` that refuses the number.
  case refused(setting: String)
  /// The lookup failed. The reason is for operators.
  case failed(String)
}
