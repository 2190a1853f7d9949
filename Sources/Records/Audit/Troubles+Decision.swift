// Counts a refused request toward the server problem that caused it, when its audit line is written.

import API
import Platform

extension Troubles {
  /// Counts a refused or failed request toward the server problem that caused it, if one did.
  @inline(never) func met(by record: borrowing AuditRecord, at time: UnixTime) {
    guard let code = record.code else { return }
    switch code {
    case .rateLimited, .quotaExhausted:
      guard let rule = record.rule, let wait = record.retryAfter else { return }
      refused(by: rule, for: wait, at: time)
    case .stopped:
      let action = record.action.rawValue
      for scope in ["all:", "app:\(record.app ?? "")", "caller:\(record.caller?.id ?? "")"] {
        hit(.stop, "\(scope):\(action)", at: time)
        hit(.stop, "\(scope):all", at: time)
      }
    case .storeUnavailable: hit(.store, at: time)
    case .upstreamRefused, .upstreamFailed, .upstreamUnavailable, .upstreamTimeout, .upstreamRateLimited,
      .outcomeUnknown:
      if let desk = record.desk { return hit(.desk, desk, at: time) }
      // Only a rule `screened` refuses with this code.
      guard record.rule == nil else { return hit(.screening, at: time) }
      // A callback without a token never reached the Callback API.
      let isCallback = record.action == .callback && !record.lacksToken
      hit(isCallback ? .callbackAPI : .talkdeskID, at: time)
    // Not a problem of the server, or one that another part reports.
    case .malformedRequest, .invalidJSON, .unauthenticated, .invalidToken, .invalidClient, .invalidProof,
      .attestationRequired, .attestationFailed, .attestationUnavailable, .closed, .denied, .numberNotAllowed,
      .noAgents, .numberNotProven, .consentRequired, .notFound, .unknownApp, .methodNotAllowed,
      .requestTimeout, .tooMany, .taken,
      .requestExpired, .alreadyDelivered, .claimExpired, .challengeExpired, .noDevice, .duplicate,
      .inProgress, .slotFull, .tooLate, .contentTooLarge, .targetTooLong, .unsupportedMediaType,
      .invalidRequest, .idempotencyMismatch, .slowDown, .fieldsTooLarge, .internal, .auditUnavailable,
      .overloaded:
      break
    }
  }
}
