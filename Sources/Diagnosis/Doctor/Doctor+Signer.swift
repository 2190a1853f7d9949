// How `callgate doctor` checks the signer: its connection, login and key, apart from Talkdesk ID's.

import JOSE
import Talkdesk
import Tokens

extension Doctor {
  /// Reports the version of the key that would sign.
  mutating func report(_ signer: TransitSigner) async {
    let settings = signer.settings
    let pinned: TransitSigner.Pinned
    do throws(TokenExchangeError) {
      pinned = try await signer.pinned(within: settings.timeout)
    } catch {
      return reportSigner(error)
    }
    let version = "\(settings.address) has version \(pinned.version) of the key \(settings.key)"
    report.ok("signer", "\(version), public key SHA-256 \(pinned.key.fingerprint)")
    if settings.version == nil {
      report.warn(
        "signer", "no key_version is set: a restart takes the newest version, which Talkdesk may not know",
        fix: "set talkdesk.signer.key_version: \(pinned.version)")
    } else if pinned.latest > pinned.version {
      report.warn(
        "signer", "there is a newer version: \(pinned.latest)",
        fix: "give Talkdesk its public key, then rotate with talkdesk.next_key.signer")
    }
  }

  /// Reports why the signer cannot be used, and names the layer.
  mutating func reportSigner(_ error: TokenExchangeError) {
    let found: (words: String, fix: String, cause: DoctorReport.Verdict) =
      switch error {
      case .refused(403, _):
        (
          "\(TokenExchangeError.signer(error))",
          "check the login (talkdesk.signer.auth) and the policy: update on MOUNT/sign/KEY, read on MOUNT/keys/KEY",
          .refused
        )
      case .refused:
        (
          "\(TokenExchangeError.signer(error))", "check mount, key, namespace and the path of the login",
          .configuration
        )
      case .signingFailed(let detail): (detail, "correct talkdesk.signer", .configuration)
      case .unavailable(503, _): ("it is sealed or under maintenance: status 503", "unseal it", .unreachable)
      case .transport, .timedOut:
        (
          "\(TokenExchangeError.signer(error))", "check its URL, its certificate (ca_file) and the network",
          .unreachable
        )
      case .unavailable, .rateLimited, .failed, .signer:
        ("\(TokenExchangeError.signer(error))", "try again; see the logs of Vault", .unreachable)
      case .unusableReply:
        (
          "\(TokenExchangeError.signer(error))", "check that talkdesk.signer.vault is a Vault or OpenBao",
          .configuration
        )
      }
    report.fail("signer", found.words, fix: found.fix, found.cause)
  }
}
