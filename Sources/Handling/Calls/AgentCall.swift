// An AI agent's request for a callback, and the key by which its repetitions are recognized.

import API
import Configuration
import Gate
import HTTP
import JOSE
import Store
import Texts

/// An agent's request for a callback.
package struct AgentCall: Sendable {
  /// How long an agent waits for the outcome of its request: some agents' clients give up after five seconds.
  ///
  /// Then the agent gets an id, even while the request still waits for rules or in the queue and has no
  /// record. If the request ends without a record, no phone rings for it and the ID is not found. A
  /// repetition is then a new request, so no call is lost or doubled.
  static let patience = Duration.milliseconds(4500)
  /// How long the store may then take to find the record of an equal request.
  static let lookup = Duration.milliseconds(300)

  /// The maximum length of a reason, in characters.
  static let longestReason = 500

  /// The agent's id of the conversation.
  let conversation: String
  let repeats: Duration
  /// The names of the consent texts of which the request needs one; nil if it needs none.
  let requiredTexts: [String]?
  /// The mistakes in the agent's arguments.
  let mistakes: [Problem.FieldProblem]
  /// Makes the response with the record of an earlier request.
  let repeated: @Sendable (StoredCallback) -> Response
  /// Makes the response while a request runs, from the callback's ID, whether an earlier request made the
  /// callback, the intent, and the time of the call (nil for now).
  let pending: @Sendable (String, Bool, CallbackIntent, Instant?) -> Response

  /// The hash of an owner's conversation ID. The same ID of another owner has another hash.
  static func digest(_ conversation: String, callerID: String, subject: String?) -> StoreID {
    // Each text has its length first, so that no two lists make the same bytes.
    let texts = [callerID, subject ?? callerID, conversation]
    let bytes = texts.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) }
    return StoreID(digest: SHA256.digest(bytes))
  }

  func conversation(of owner: InstallationUser) -> AgentConversation {
    AgentConversation(
      id: Self.digest(conversation, callerID: owner.callerID, subject: owner.subject), repeats: repeats)
  }

  /// The key of a request. It begins with a character that no client can send in an `Idempotency-Key`, and no
  /// subject has.
  ///
  /// - Parameter at: The time of the call; nil for now.
  static func key(in conversation: AgentConversation, _ contact: E164, at: Instant?) -> CallbackIntent.Key {
    let time = at.map { " \($0.seconds)" } ?? ""
    return CallbackIntent.Key(
      text: "\u{0}\(conversation.id.hex) \(contact.text)\(time)", fingerprint: [])
  }

  /// The fault of a consent that the tool needs; nil if there is none.
  func fault(_ consent: GivenConsent?, at now: Instant) -> ConsentFault? {
    requiredTexts.flatMap { ConsentFault(consent, texts: $0, at: now) }
  }

  /// The problem that a rule with these texts would report.
  func problem(_ fault: ConsentFault) -> Problem {
    Problem(
      Denial(code: .consentRequired, rule: nil, cause: fault.rawValue, options: requiredTexts ?? []))
  }
}

extension Configuration.Callbacks {
  /// These terms for an agent's request, whose key expires after `repeats` instead.
  func kept(_ agent: AgentCall?) -> CallbackIntent.Terms {
    guard let agent else { return kept }
    return .init(dedupeWindow: dedupeWindow, keyRetention: agent.repeats, retention: retention)
  }
}
