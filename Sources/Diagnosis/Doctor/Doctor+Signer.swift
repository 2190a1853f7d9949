// How `callgate doctor` checks the external signer (Vault or OpenBao): its connection, login and key.

import JOSE
import Talkdesk
import Tokens

extension Doctor {
  /// The maximum number of other versions of a key to try at Talkdesk.
  private static let mostVersions = 5

  /// Reports the version of the key that would sign.
  /// - Returns: That version; nil if the signer cannot be used.
  mutating func report(_ signer: TransitSigner) async -> TransitSigner.Pinned? {
    let settings = signer.settings
    let pinned: TransitSigner.Pinned
    do throws(TokenExchangeError) {
      pinned = try await signer.pinned(within: settings.timeout)
    } catch {
      reportSigner(error)
      return nil
    }
    let version = "\(settings.address) has version \(pinned.version) of the key \(settings.key)"
    report.ok("signer", "\(version), public key SHA-256 \(pinned.key.fingerprint)")
    return pinned
  }

  /// Reports which version of a signer's key to configure. Vault does not know which version Talkdesk
  /// accepts, so doctor tries them at Talkdesk.
  /// - Parameter isServed: Whether Talkdesk ID issued a token for any key.
  mutating func reportVersion(
    of signer: TransitSigner, _ pinned: TransitSigner.Pinned, _ trial: Trial, isServed: Bool
  ) async {
    let setting = "talkdesk.\(trial.role == .next ? "next_key.signer" : "signer").key_version"
    var isAccepted = trial.token != nil
    if trial.refusal != nil {
      // A scope that is refused says nothing about the key.
      isAccepted = await attempt(trial.credential, trial.role, scope: "").token != nil
      if !isAccepted, let accepted = await acceptedVersion(of: signer, pinned, trial) {
        let found =
          "Talkdesk refuses version \(pinned.version) of the key \(signer.settings.key), and accepts version \(accepted)"
        return isServed
          ? report.warn("signer", found, fix: "set \(setting): \(accepted)")
          : report.fail("signer", found, fix: "set \(setting): \(accepted)", .refused)
      }
    }
    if signer.settings.version == nil {
      report.warn(
        "signer",
        "no key_version is set: after a restart the server uses the newest version, which Talkdesk may not know",
        fix: isAccepted
          ? "set \(setting): \(pinned.version)"
          : "set \(setting) to the version whose public key Talkdesk has")
    } else if isAccepted, pinned.latest > pinned.version {
      report.warn(
        "signer", "there is a newer version: \(pinned.latest)",
        fix: "give Talkdesk its public key, then rotate with talkdesk.next_key.signer")
    }
  }

  /// The newest other version of a key for which Talkdesk ID issues a token, with any scope. Nil if none of
  /// the newest `mostVersions` works.
  private func acceptedVersion(
    of signer: TransitSigner, _ pinned: TransitSigner.Pinned, _ trial: Trial
  ) async -> Int64? {
    for version in pinned.versions.filter({ $0 != pinned.version }).prefix(Self.mostVersions) {
      let other = ClientCredential.transit(
        clientID: trial.credential.clientID, keyID: trial.credential.name,
        signer: await signer.pinned(to: version))
      if await attempt(other, trial.role, scope: "").token != nil { return version }
    }
    return nil
  }

  /// Reports why the signer cannot be used, and how to fix it.
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
      case .redirected(let status, let host):
        (
          "it is a standby that redirects to \(host ?? "another address"): status \(status)",
          "set talkdesk.signer.vault to the active server, or to an address that forwards to it", .unreachable
        )
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
