// Reads the member `attestation` of a request for an installation: evidence of App Check, App Attest or Play
// Integrity.

import API
package import JOSE
package import Store
package import Trust

/// Evidence that an app sends to prove that it is genuine.
package enum AttestationEvidence: Sendable, Equatable {
  /// A token of App Check.
  case appCheck(token: String)
  /// An attestation of App Attest.
  case appAttest(AppAttestEvidence)
  /// A token of Play Integrity.
  case playIntegrity(PlayIntegrityEvidence)

  package var type: AttestationType {
    switch self {
    case .appCheck: .appCheck
    case .appAttest: .appAttest
    case .playIntegrity: .playIntegrity
    }
  }

  /// Reads the member; nil if it is absent or invalid. Problems are added to the reader.
  init?(_ reader: inout MemberReader) {
    guard var members = reader.members("attestation") else { return nil }
    defer { reader.problems = members.problems }
    let remedy = "Give one of \(AttestationType.allCases.map(\.rawValue).joined(separator: ", "))."
    let name = members.value("type", required: remedy)
    let type = name.flatMap { AttestationType(rawValue: $0) }
    if name != nil, type == nil { members.problems.add("attestation.type", remedy) }
    switch type {
    case .appAttest:
      let object = members.base64("object", required: "Give the attestation object, as Base64.")
      let keyID = members.base64("key_id", required: "Give the key's id, as Base64.")
      let challenge = members.value(
        "challenge", required: "Give the challenge of POST /attestation/challenge.")
      members.refuseOthers()
      guard let object, let keyID, let challenge else { return nil }
      self = .appAttest(AppAttestEvidence(object: object, keyID: keyID, challenge: challenge))
    case .playIntegrity:
      let token = members.value("token", required: "Give the token of Play Integrity.")
      let challenge = members.value(
        "challenge", required: "Give the challenge of POST /attestation/challenge.")
      members.refuseOthers()
      guard let token, let challenge else { return nil }
      self = .playIntegrity(PlayIntegrityEvidence(token: token, challenge: challenge))
    case .appCheck, nil:
      let token = members.value("token", required: "Give the token of App Check.")
      members.refuseOthers()
      guard type != nil, let token else { return nil }
      self = .appCheck(token: token)
    }
  }
}

/// The App Attest evidence of an iPhone.
package struct AppAttestEvidence: Sendable, Equatable {
  /// The attestation object.
  package let object: [UInt8]
  /// The id of the key: SHA-256 of its point.
  package let keyID: [UInt8]
  /// The challenge that the phone has signed.
  package let challenge: String
}

/// The Play Integrity evidence of an Android phone.
package struct PlayIntegrityEvidence: Sendable, Equatable {
  /// The maximum length of a token, in bytes. Google's tokens have about 2,000 bytes.
  package static let longestToken = 16 * 1024

  /// The token, which only Google can read.
  package let token: String
  /// The challenge of the request that the token is for.
  package let challenge: String

  /// Whether Google might decode the token. A token that is empty, too long or not in visible ASCII is
  /// refused without using Google's quota.
  package var mayBeToken: Bool {
    (1...Self.longestToken).contains(token.utf8.count) && token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}

/// The text that a phone signs when it attests. It ties the attestation to one request.
package enum EnrolmentStatement {
  /// The text. None of its parts contains a line feed.
  ///
  /// - Parameter key: The thumbprint of the phone's own key (RFC 7638), if it sends one.
  package static func text(
    _ client: InstallationClient, challenge: String, key: SHA256Digest?
  ) -> String {
    [
      "callgate-enrol-1", client.id.description, client.app, client.detail ?? "", challenge,
      key.map { Base64URL.encode($0.bytes) } ?? "",
    ].joined(separator: "\n")
  }

  /// SHA-256 of the text.
  package static func digest(
    _ client: InstallationClient, challenge: String, key: SHA256Digest?
  ) -> [UInt8] {
    SHA256.digest(Array(text(client, challenge: challenge, key: key).utf8))
  }
}
