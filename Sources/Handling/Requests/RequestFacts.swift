// Converts requests and their callers to the facts for rules, and to values for records.

package import Callbacks
package import Callers
package import Configuration
package import Gate
package import HTTP
package import Platform
package import Serving
package import Store
import Texts

extension Generation {
  /// The facts of a caller's request that rules may read.
  package func facts(
    _ action: Action, _ caller: Caller, app: App?, address: IPAddress, _ request: borrowing Request,
    at now: UnixTime
  ) -> Facts {
    facts(
      action, caller, claims: caller.claims, appID: app?.id, address: address, request, at: now)
  }

  /// The facts of a request that rules may read.
  ///
  /// - Parameter caller: Nil for a request for an installation without a user.
  @inline(__always)
  func facts(
    _ action: Action, _ caller: Caller?, claims: [FactMember], appID: String?, address: IPAddress,
    _ request: borrowing Request, at now: UnixTime
  ) -> Facts {
    var fields: [RequestField] = []
    for field in ruleFields {
      for value in request.values(of: field.field) {
        fields.append(RequestField(lowercaseName: field.name, value: request.string(value)))
      }
    }
    return Facts(
      action: action, callerID: caller?.id, subject: caller?.subject,
      installation: caller?.installationFacts, appID: appID, address: address, phone: nil, claims: claims,
      fields: fields, instant: Instant(now), at: nil, agents: agentsForRules, number: nil)
  }
}

extension Caller {
  /// The text under which an idempotency key is saved. Users of one issuer share a caller, so the text
  /// contains the subject if it differs from the caller.
  package func owned(_ key: IdempotencyKey) -> String {
    owner.subject.hasSameBytes(as: owner.callerID) ? key.text : owner.subject + "\u{0}" + key.text
  }
}

extension Configuration.Callbacks {
  /// The times for which a record, its key and its dedupe entry are stored.
  package var kept: CallbackIntent.Terms {
    .init(dedupeWindow: dedupeWindow, keyRetention: keyRetention, retention: retention)
  }
}
