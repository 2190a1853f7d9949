// The member `attestation` of a request for an installation.

import API
package import Trust

/// What an app sends to prove that it is genuine.
package enum AttestationEvidence: Sendable, Equatable {
  /// A token of App Check.
  case appCheck(token: String)

  package var type: AttestationType {
    switch self {
    case .appCheck: .appCheck
    }
  }

  /// Takes the member; nil where it is absent or has mistakes, which the reader notes.
  init?(_ reader: inout MemberReader) {
    guard var members = reader.members("attestation") else { return nil }
    defer { reader.problems = members.problems }
    let type = members.value(
      "type", required: "Give one of \(AttestationType.allCases.map(\.rawValue).joined(separator: ", ")).")
    let token = members.value("token", required: "Give the token of App Check.")
    members.refuseOthers()
    guard let type, let token else { return nil }
    guard AttestationType(rawValue: type) == .appCheck else {
      members.problems.add(
        "attestation.type",
        "Give one of \(AttestationType.allCases.map(\.rawValue).joined(separator: ", ")).")
      return nil
    }
    self = .appCheck(token: token)
  }
}
