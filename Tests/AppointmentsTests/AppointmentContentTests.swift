// Tests of an appointment's sealed content: all of it can be read back, but only for its own record and with
// its own keys.

import API
import Gate
import HTTP
import HTTPServer
import JOSE
import Platform
import Records
import Sealing
import Store
import StoreSupport
import TestSupport
import Testing

@testable import Appointments
@testable import Callers
@testable import Installations

@Suite struct AppointmentContentTests {
  private static func key(_ byte: UInt8) -> StoreKey { StoreKey(Secret([UInt8](repeating: byte, count: 32))) }
  private let keys = StoreKeys(current: key(1))
  private let id = CallbackID(at: Instant(seconds: 1_800_000_000))

  /// A content with every part, or with as little as possible.
  private func content(full: Bool) throws -> AppointmentContent {
    let number = try E164("+14155550165")
    let now = Instant(seconds: 1_800_000_000)
    let client = InstallationClient(
      id: try #require(InstallationID("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")), app: "Shop", detail: nil)
    let installation = Installation(
      client: client, appID: "shop", user: InstallationUser(callerID: "users", subject: "+14155550199"),
      address: "192.0.2.1", secret: SHA256Digest(of: [1]), generation: .max, createdAt: now, usedAt: now)
    let caller =
      full
      ? Caller(authenticated: KnownInstallation(installation)) : Caller(authenticated: "partner")
    var facts = Facts(
      action: .callback, callerID: caller.id, subject: caller.subject, appID: full ? "shop" : nil,
      address: try #require(IPAddress(full ? "2001:db8::1" : "203.0.113.9")), phone: number, instant: now)
    facts.installation = caller.installationFacts
    var receipts: [KeptReceipt] = []
    if full {
      facts.claims = [
        FactMember("tier", .string("gold")), FactMember("age", .number("1.50")),
        FactMember(
          "roles", .array([.null, .bool(true), .object([FactMember("é\"\u{0}", .string("\u{2028}"))])])),
      ]
      facts.fields = [
        RequestField(name: "X-App-Version", value: "2"), RequestField(name: "x-app-version", value: ""),
      ]
      let policy = Policy(brakes: Brakes(numberPerDay: 6, perFiveMinutes: 500, perHour: 1000))
      let charges = policy.charges(for: facts)
      guard case .taken(let taken) = charges.take(from: charges.map { _ in nil }, at: now) else {
        preconditionFailure("unused allowances")
      }
      receipts = taken.map(\.kept)
      #expect(receipts.count == 3)
    }
    var content = AppointmentContent(
      body: Array(full ? #"{"context":{"fields":[{"value":"ü\\\" "}]}}"#.utf8 : "{}".utf8), caller: caller,
      facts: facts, receipts: receipts,
      context: RequestContext(
        requestID: RequestID("first-request")!,
        trace: full
          ? TraceContext(Array("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".utf8)) : nil),
      terms: CallbackIntent.Terms(
        dedupeWindow: .zero, keyRetention: .seconds(86_400), retention: .seconds(30 * 86_400)))
    if full { content.name = "MFRGGZDFMZTWQ2LKMFRGGZDFMZTWQ2LK" }
    return content
  }

  @Test(arguments: [true, false]) func `a content comes back as it was`(full: Bool) throws {
    let content = try content(full: full)
    let sealed = try content.sealed(with: keys, for: id)
    #expect(try AppointmentContent(opening: sealed, with: keys, for: id) == content)
    let rotated = StoreKeys(current: Self.key(2), previous: Self.key(1))
    #expect(try AppointmentContent(opening: sealed, with: rotated, for: id) == content)
  }

  @Test func `the rules get the facts of the booking, with another time`() throws {
    let content = try content(full: true)
    let (at, now) = (Instant(seconds: 1_900_000_000), Instant(seconds: 1_900_000_001))
    let facts = content.facts(at: at, now: now)
    #expect(facts.at == at && facts.instant == now && facts.action == .callback)
    #expect(facts.callerID == "installation" && facts.subject == "+14155550199" && facts.appID == "shop")
    #expect(facts.installation?.callerID == "users" && facts.phone == content.contact)
    #expect(facts.claims == content.claims && facts.fields == content.fields)
    #expect(facts.address == IPAddress("2001:db8::1"))
  }

  @Test func `an audit line names the caller as the booking's does`() throws {
    let audited = try content(full: true).audited
    #expect(audited.id == "installation" && audited.installation == "6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44")
    #expect(!audited.subject.contains("4155550199"))
    #expect(try content(full: false).audited == AuditedCaller(id: "partner", subject: "partner"))
  }

  @Test func `a content opens for its own record only, and only unchanged`() throws {
    var sealed = try content(full: true).sealed(with: keys, for: id)
    let other = CallbackID(at: Instant(seconds: 1_800_000_000))
    #expect(throws: StoreKeys.Failure.broken) {
      try AppointmentContent(opening: sealed, with: keys, for: other)
    }
    #expect(throws: StoreKeys.Failure.unknownKey(Self.key(1).id)) {
      try AppointmentContent(opening: sealed, with: StoreKeys(current: Self.key(2)), for: id)
    }
    sealed[sealed.count - 20] ^= 1
    #expect(throws: StoreKeys.Failure.broken) {
      try AppointmentContent(opening: sealed, with: keys, for: id)
    }
  }

  @Test func `nothing of a content can be read without the key`() throws {
    let sealed = String(decoding: try content(full: true).sealed(with: keys, for: id), as: UTF8.self)
    for word in ["4155550165", "gold", "body", "shop"] { #expect(!sealed.contains(word)) }
  }

  @Test(arguments: [
    (#"{"version":2}"#, StoreKeys.Failure.malformed), ("{}", .malformed), ("[]", .malformed),
    (#"{"version":1}"#, .broken), (#"{"version":1,"body":7}"#, .broken), ("", .broken), ("{", .broken),
  ])
  func `what another release has sealed is told from what no release has`(
    text: String, failure: StoreKeys.Failure
  ) throws {
    let sealed = try keys.seal(Array(text.utf8), for: .appointment, associated: id.bytes)
    #expect(throws: failure) { try AppointmentContent(opening: sealed, with: keys, for: id) }
  }
}
