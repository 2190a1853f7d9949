// Tests of the owner that audit lines made from a record name.

import API
import Gate
import JOSE
import Store
import StoreSupport
import Testing

@testable import Installations

@Suite struct AuditedOwnerTests {
  private static let id = "6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44"

  private func line(_ caller: String, _ subject: String?, generation: Int64? = nil) throws -> String {
    let identity = try generation.map {
      InstallationIdentity(try #require(InstallationID(Self.id)), generation: $0)
    }
    let record = StoredCallback(
      id: CallbackID(at: Instant(seconds: 1)), callerID: caller, subject: subject, appID: nil,
      contact: "+*********65", createdAt: Instant(seconds: 1), at: nil, settledAt: nil, status: .accepted,
      code: nil, upstreamStatus: nil, platformTID: nil, verificationCode: nil, notices: nil, ticket: nil,
      origin: identity.map { .installation($0) } ?? .other, alias: nil, outcome: nil)
    return String(decoding: AuditedCaller(of: record).members, as: UTF8.self)
  }

  @Test func `the line names the user, and a caller that has none`() throws {
    #expect(try line("app-users", "user-614f") == #","caller":"app-users","subject":"user-614f""#)
    #expect(try line("ios-app", "ios-app") == #","caller":"ios-app","subject":"ios-app""#)
    #expect(try line("ios-app", nil) == #","caller":"ios-app","subject":"ios-app""#)
  }

  @Test func `a user whom the identity provider names by a number is not named`() throws {
    #expect(try !line("app-users", "+14155550165").contains("4155550165"))
  }

  @Test func `an installation is named as its own requests name it`() throws {
    let named = #","installation":"\#(Self.id)""#
    #expect(
      try line("app-users", "user-614f", generation: 7)
        == #","caller":"installation","subject":"user-614f""# + named)
    #expect(
      try line("installation", Self.id + "-1795", generation: 1795)
        == #","caller":"installation","subject":"\#(Self.id)""# + named)
  }

  @Test func `an installation is not named by its user's number`() throws {
    let installation = Installation(
      client: InstallationClient(id: try #require(InstallationID(Self.id)), app: "Shop", detail: nil),
      appID: "shop", user: InstallationUser(callerID: "app-users", subject: "tel:+14155550165"),
      address: "192.0.2.1", secret: SHA256Digest(of: [7]), generation: 7, createdAt: Instant(seconds: 1),
      usedAt: Instant(seconds: 1))
    let known = KnownInstallation(installation)
    #expect(known.subject == "tel:+14155550165")
    let members = String(decoding: known.audited.members, as: UTF8.self)
    #expect(
      members.hasPrefix(#","caller":"installation","subject":"tel:"#) && !members.contains("4155550165"))
  }
}
