// The Talkdesk numbers and the context that the configuration allows for the callbacks of one app.

package import Configuration
package import Gate
import Texts

/// The operator's terms for an app's callbacks: the account's numbers and the context.
package struct CallbackTerms: Sendable {
  /// The account's numbers that may be used, the default first. Where none is configured a request has to name one, and
  /// Talkdesk, which knows the account's numbers, judges it.
  package let talkdeskNumbers: [E164]
  /// Whether a request may name any other number, too. So in the sandbox, whose account has every number.
  let takesAnyTalkdeskNumber: Bool
  /// The fields of the context; nil allows anything well-formed.
  let schema: Configuration.ContextSchema?
  /// Whether callbacks of installations carry a verification code, so that no client may send such a field.
  package let addsVerificationCode: Bool
  /// Whether a request may contain a proof of its number.
  private(set) var takesProof = false
  /// Whether a request may contain a consent.
  private(set) var takesConsent = false
  /// The texts that a consent may name. Nil where a rule checks the name.
  package var knownTexts: [String]?
  /// What the agent sees of the fields that the server adds, while callbacks carry verification codes; empty otherwise.
  private let ownLabels: Set<FoldedLabel>

  /// Whether the server adds a field of this name.
  package func adds(_ name: String) -> Bool {
    schema?.additions.contains { $0.name.hasSameBytes(as: name) } == true || addsCode(name)
  }

  /// Whether it is a field of the verification code that the server adds.
  package func addsCode(_ name: String) -> Bool {
    addsVerificationCode && Configuration.App.verificationFields.contains { $0.name.hasSameBytes(as: name) }
  }

  /// Whether an agent could take a name, label or tooltip for one of a field that the server adds.
  func looksOwn(_ text: String) -> Bool { !ownLabels.isEmpty && ownLabels.contains(FoldedLabel(text)) }

  private static func ownLabels(
    _ schema: Configuration.ContextSchema?, _ addsCode: Bool
  ) -> Set<FoldedLabel> {
    addsCode ? Configuration.App.ownLabels(schema?.additions ?? []) : []
  }

  /// Makes terms.
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

  /// The same for AI agents, whose reason is longer than other values.
  ///
  /// - Parameter longest: The most characters of the field `reason`, where the schema does not know it.
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
        // Loading the configuration refused everything else.
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
