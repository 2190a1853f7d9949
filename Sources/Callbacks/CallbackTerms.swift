// The Talkdesk numbers and the context that the configuration allows for the callbacks of one app.

package import Configuration
package import Gate
import Texts

/// The operator's settings for an app's callbacks: allowed Talkdesk numbers, context, proofs and consents.
package struct CallbackTerms: Sendable {
  /// The account's numbers that may be used, the default first. If none is configured, each request must name
  /// a number, and Talkdesk checks that the account has it.
  package let talkdeskNumbers: [E164]
  /// Whether a request may name any other number, too. True in the sandbox, whose account has every number.
  let takesAnyTalkdeskNumber: Bool
  /// The fields of the context; nil allows anything well-formed.
  let schema: Configuration.ContextSchema?
  /// Whether callbacks of installations carry a verification code, so that no client may send such a field.
  package let addsVerificationCode: Bool
  /// Whether a request may contain a proof of its number.
  private(set) var takesProof = false
  /// Whether a request may contain a consent.
  private(set) var takesConsent = false
  /// The texts that a consent may name; nil if this is not checked while parsing, for example because a rule
  /// checks the name.
  package var knownTexts: [String]?
  /// Names, labels and tooltips of the fields that the server adds, as an agent reads them. Empty unless
  /// callbacks carry verification codes.
  private let ownLabels: Set<FoldedLabel>

  /// Whether the server adds a field of this name.
  package func adds(_ name: String) -> Bool {
    schema?.additions.contains { $0.name.hasSameBytes(as: name) } == true || addsCode(name)
  }

  /// Whether a name is that of a verification field that the server adds.
  package func addsCode(_ name: String) -> Bool {
    addsVerificationCode && Configuration.App.verificationFields.contains { $0.name.hasSameBytes(as: name) }
  }

  /// Whether an agent could mistake a name, label or tooltip for that of a field that the server adds.
  func looksOwn(_ text: String) -> Bool { !ownLabels.isEmpty && ownLabels.contains(FoldedLabel(text)) }

  private static func ownLabels(
    _ schema: Configuration.ContextSchema?, _ addsCode: Bool
  ) -> Set<FoldedLabel> {
    addsCode ? Configuration.App.ownLabels(schema?.additions ?? []) : []
  }

  package init(
    talkdeskNumbers: [E164], takesAnyTalkdeskNumber: Bool = false, schema: Configuration.ContextSchema? = nil,
    addsVerificationCode: Bool = false
  ) {
    self.talkdeskNumbers = talkdeskNumbers
    self.takesAnyTalkdeskNumber = takesAnyTalkdeskNumber
    self.schema = schema
    self.addsVerificationCode = addsVerificationCode
    ownLabels = Self.ownLabels(schema, addsVerificationCode)
  }

  /// Terms for AI agents, whose reason may be longer than other values.
  ///
  /// - Parameter longest: The maximum length of the field `reason`, in characters, if the schema does not
  ///   define the field.
  package func takingReasons(longest: Int) -> CallbackTerms {
    guard schema?.fields.contains(where: { $0.name.hasSameBytes(as: "reason") }) != true else { return self }
    var terms = CallbackTerms(
      talkdeskNumbers: talkdeskNumbers, takesAnyTalkdeskNumber: takesAnyTalkdeskNumber,
      schema: Configuration.ContextSchema(schema, reasonsOf: longest),
      addsVerificationCode: addsVerificationCode)
    (terms.takesProof, terms.takesConsent) = (takesProof, takesConsent)
    return terms
  }

  /// The terms of an app, or of requests without one.
  package init(app: Configuration.App?, _ configuration: Configuration) {
    let own = app?.talkdeskPhoneNumbers ?? []
    let texts = own.isEmpty ? configuration.callbacks.talkdeskPhoneNumbers : own
    takesAnyTalkdeskNumber = configuration.purpose == .sandbox
    talkdeskNumbers = texts.map { text in
      do {
        return try E164(text)
      } catch {
        // Not reached: loading the configuration refuses an invalid number.
        preconditionFailure("the configuration holds a telephone number that is none")
      }
    }
    takesProof = configuration.numbers?.firebase != nil
    takesConsent = configuration.numbers?.consentTexts.isEmpty == false
    schema = app?.contextSchema
    addsVerificationCode = app?.verificationCode ?? false
    ownLabels = Self.ownLabels(schema, addsVerificationCode)
  }
}
