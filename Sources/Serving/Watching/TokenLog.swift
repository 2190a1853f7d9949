// Logs token requests to Talkdesk ID, the keys that it accepts or refuses, and a clock that differs from
// Talkdesk's.

import HTTP
import Platform
import Records
import Tokens

/// Writes lines about requests to Talkdesk ID and their keys, but never a token, an assertion or, above
/// `debug`, Talkdesk's own words.
struct TokenLog {
  let log: Log

  func credentialChanged(_ status: CredentialStatus) {
    let values: KeyValuePairs<String, any LogValue> = ["key_id": status.name, "role": status.role.rawValue]
    switch (status.role, status.state) {
    case (_, .untried): break
    case (.next, .accepted):
      log.write(
        .info, "Talkdesk ID accepted the next key and the server uses it; make it the current key", values)
    case (.current, .accepted): log.write(.debug, "Talkdesk ID accepted the key", values)
    case (.next, .refused):
      log.write(
        .warning, "Talkdesk ID refused the next key; the server tries the current key",
        [
          "key_id": status.name, "role": status.role.rawValue,
          "tried_again_in_seconds": status.retryIn?.components.seconds,
        ])
    case (.current, .refused): log.write(.warning, "Talkdesk ID refused the key", values)
    }
  }

  func tokenRequest(_ report: TokenRequestReport) {
    let milliseconds = report.duration.nanosecondsClamped / 1_000_000
    switch report.outcome {
    case .success(let token):
      log.write(
        .info, "token obtained from Talkdesk ID",
        [
          "scope": token.scope, "key_id": report.credential, "role": report.role.rawValue,
          "attempt": report.attempt,
          "duration_ms": milliseconds, "token_sha256": token.sha256,
          "expires_in": token.lifetime?.components.seconds,
          "platform_tid": report.platformTID ?? "",
        ], trace: report.trace)
    case .failure(let error):
      log.write(
        .warning, "no token from Talkdesk ID",
        [
          "scope": report.scope, "key_id": report.credential, "role": report.role.rawValue,
          "attempt": report.attempt,
          "duration_ms": milliseconds, "error.type": report.label, "error.message": "\(error)",
          "http.response.status_code": report.status,
          "platform_tid": report.platformTID ?? "",
        ], trace: report.trace)
      if let description = report.errorDescription {
        log.write(
          .debug, "Talkdesk ID's own description", ["error_description": description], trace: report.trace)
      }
    }
    if report.clockIsOff, let skew = report.clockSkew {
      log.write(
        .warning, "this machine's clock differs from Talkdesk's: Talkdesk ID may refuse assertions",
        ["ahead_seconds": -skew.components.seconds])
    }
  }
}
