// The evidence that a callback's number belongs to the caller: the proof in the request, and numbers that
// the caller has proven before.

import API
import Callbacks
import Callers
import Configuration
import Deciding
import Gate
import Installations
import Platform
import Records
import Serving
import Store
import Texts

extension Generation {
  /// The evidence about the number of a new callback, before the store is queried.
  func evidence(_ asked: CallbackRequest) -> NumberEvidence {
    NumberEvidence(hasProof: asked.numberProof != nil, consent: asked.consent)
  }

  /// The hashes of the number and the caller's subject, to find an earlier proof. Nil if no rule
  /// `own_number` applies, if the server does not remember numbers, or if the caller has no subject.
  func ownership(_ number: E164, of caller: Caller, _ facts: Facts) -> ProvenNumber? {
    guard decider.policy.asksOwnNumber, let terms = configuration.numbers, terms.remember > .zero,
      let owner = OwnerOfNumbers(caller), decider.policy.asks(.ownNumber, about: facts)
    else { return nil }
    return numberKey.provenNumber(number, of: owner)
  }

  /// Makes a function that verifies the proof of the number in a request. Nil without a proof, or if the
  /// configuration has none.
  func prover(_ asked: CallbackRequest, clock: any TimeSource) -> NumberProver? {
    guard let proof = asked.numberProof, let numberProofs else { return nil }
    return { () throws(Problem) in
      guard let answer = await numberProofs.judge(proof, for: asked.contactNumber, clock: clock) else {
        throw Problem(
          .upstreamUnavailable, "The server cannot check the proof of the number right now.",
          tryAgainAfter: numberProofs.keys.rest?.wholeSecondsRoundedUp ?? 10)
      }
      return answer
    }
  }

  /// The consent for the record. Nil without a consent, or if it names no configured text.
  func consent(_ given: GivenConsent?) -> StoredConsent? {
    guard let given,
      let text = configuration.numbers?.consentTexts.first(where: { $0.name.hasSameBytes(as: given.text) })
    else { return nil }
    return StoredConsent(given, to: text)
  }

  /// The texts that a consent may name. Nil if there are none, or if a rule checks the name.
  func textsToKnow(_ facts: Facts) -> [String]? {
    guard let numbers = configuration.numbers, !numbers.consentTexts.isEmpty,
      !decider.policy.asks(.consent, about: facts)
    else { return nil }
    return numbers.consentNames
  }

  /// The time for which the server remembers a number with this result; nil if it does not remember the
  /// number.
  func remembering(_ result: NumberResult?) -> Duration? {
    guard result == .proof, let span = configuration.numbers?.remember, span > .zero else { return nil }
    return span
  }

  /// Whether a number that was proven at that time still counts as proven.
  func isRemembered(_ proven: Instant?, at now: Instant) -> Bool {
    guard let proven, let remember = configuration.numbers?.remember else { return false }
    return now < proven.advanced(by: remember)
  }
}

/// The subject of a proven number: a user or an installation.
struct OwnerOfNumbers {
  /// An unambiguous encoding: no caller's id contains NUL, and the part that may contain it comes last.
  fileprivate let octets: [UInt8]

  /// Nil for a caller that is neither an installation nor a user with a JWT.
  init?(_ caller: Caller) {
    if let installation = caller.installation?.installation {
      self.init(installation.identity)
    } else if caller.proof == .jwt {
      self.init("user", caller.id, caller.subject)
    } else {
      return nil
    }
  }

  init(_ installation: InstallationIdentity) {
    self.init("installation", installation.id.description, "\(installation.generation)")
  }

  private init(_ kind: String, _ id: String, _ last: String) {
    var octets: [UInt8] = []
    octets.reserveCapacity(kind.utf8.count + id.utf8.count + last.utf8.count + 2)
    octets += kind.utf8
    octets.append(0)
    octets += id.utf8
    octets.append(0)
    octets += last.utf8
    self.octets = octets
  }
}

extension NumberKey {
  /// The keyed hashes of a proven number and its subject.
  func provenNumber(_ number: E164, of owner: OwnerOfNumbers) -> ProvenNumber {
    let subject = quickID(of: owner.octets)
    return ProvenNumber(id: quickID(of: subject.bytes + number.text.utf8), owner: subject)
  }
}

extension Handlers {
  /// Saves the number in a user's token as proven by the installation that the user has authorized.
  func rememberNumber(of user: Caller, for installation: Installation, _ generation: Generation) async {
    guard let terms = generation.configuration.numbers, terms.remember > .zero,
      let number = terms.claim?.verifiedNumber(in: user.claims)
    else { return }
    let now = Instant(clock.unixTime)
    do throws(StoreError) {
      try await store.remember(
        generation.numberKey.provenNumber(number, of: OwnerOfNumbers(installation.identity)), at: now,
        until: now.advanced(by: terms.remember))
    } catch {
      // The installation has to prove the number itself.
      log.write(.warning, "a proven number could not be remembered", ["error.message": "\(error)"])
    }
  }
}

extension AuditRecord {
  /// Notes that the server could not verify the proof, if that is why there is no decision.
  mutating func note(unproven problem: Problem, _ asked: CallbackRequest) {
    if problem.code == .upstreamUnavailable, asked.numberProof != nil { ownership = .unavailable }
  }
}
