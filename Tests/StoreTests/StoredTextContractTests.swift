// Tests that every store returns each text byte for byte, or refuses it.

import Gate
import JOSE
import Store
import StoreSupport
import Testing

@Suite struct StoredTextContractTests {
  /// Texts that a store may confuse with others: with NUL, of the greatest length, outside the Basic
  /// Multilingual Plane, in NFC and NFD, and with characters that have a meaning in SQL, arrays or JSON.
  private static let texts = [
    "ann\0x", "\0", "ann\u{FFFD}x", String(repeating: "é", count: 127) + "a", "\u{10FFFF}", "\u{E9}",
    "e\u{301}",
    "\u{212A}", "NULL", "\\x61", "{a,\"b\"}", "\u{202E}\u{FEFF}",
  ]

  /// Writes a text and reads it back. Only PostgreSQL may refuse it, only for NUL, and then nothing may be
  /// saved.
  ///
  /// - Parameters:
  ///   - column: names the failed case.
  ///   - write: saves the text.
  ///   - read: returns the saved text; nil if there is none.
  private func check(
    _ column: String, _ kind: StoreKind, _ text: String, write: () async throws -> Void,
    read: () async throws -> String?
  ) async throws {
    let isRefused = kind == .postgres && text.utf8.contains(0)
    do {
      try await write()
      #expect(!isRefused, "\(column) was saved")
      #expect(try await read().map { Array($0.utf8) } == Array(text.utf8), "\(column)")
    } catch let error as StoreError {
      #expect(isRefused && error.kind == .rejected, "\(column): \(error)")
      #expect(try await read() == nil, "\(column) was shortened")
    }
  }

  @Test(arguments: StoreKind.available)
  func `callbacks keep their texts`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for (number, text) in Self.texts.enumerated() {
      let owned = CallbackIntent.made(caller: text)
      try await check("caller", kind, text) {
        _ = try await store.begin(owned, at: .noon())
      } read: {
        try await store.callbacks(CallbackQuery(status: nil, limit: 1000)).first { $0.id == owned.id }?
          .callerID
      }
      let made = CallbackIntent.made(caller: "of-subject", subject: text)
      try await check("subject", kind, text) {
        _ = try await store.begin(made, at: .noon())
      } read: {
        try await store.callback(made.id, of: "of-subject")?.subject
      }
      let app = CallbackIntent.made(caller: "of-app", app: text, window: .zero)
      try await check("app", kind, text) {
        _ = try await store.begin(app, at: .noon())
      } read: {
        try await store.callback(app.id, of: "of-app")?.appID
      }
      let coded = CallbackIntent.made(caller: "of-code", window: .zero)
      _ = try await store.begin(coded, at: .noon())
      try await check("code", kind, text) {
        _ = try await store.settle(
          coded.id, CallbackSettlement(.failed, code: text, keepsKey: false, at: .noon(1)))
      } read: {
        try await store.callback(coded.id, of: "of-code")?.code
      }
      // Talkdesk's trace ID is never looked up, and must not keep an outcome from being saved.
      let told = CallbackIntent.made(caller: "of-tid", window: .zero)
      _ = try await store.begin(told, at: .noon())
      _ = try await store.settle(
        told.id, CallbackSettlement(.accepted, platformTID: text, keepsKey: false, at: .noon(1)))
      let saved = try await store.callback(told.id, of: "of-tid")?.platformTID
      #expect(saved == (kind == .postgres ? text.replacing("\0", with: "\u{FFFD}") : text))
      // An appointment is found by its owner's text.
      let booking = Booking.made(caller: "of-appointment-\(number)", subject: text)
      try await check("subject of an appointment", kind, text) {
        _ = try await store.book(booking, at: .noon())
      } read: {
        do {
          return try await store.appointments(of: "of-appointment-\(number)", subject: text, most: 9).first?
            .subject
        } catch { return nil }
      }
    }
    // No text of another user has become ann's.
    #expect(try await store.appointments(of: "of-appointment-0", subject: "ann", most: 9).isEmpty)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `stops keep their texts`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for (number, text) in Self.texts.enumerated() {
      for target in [Stop.Target.app(text), .caller(text)] {
        try await check("target", kind, text) {
          try await store.stop(Stop(target, .one(.access), since: Int64(100 + number)))
        } read: {
          try await store.stops().list.first {
            $0.since == 100 + number && $0.target.parts.scope == target.parts.scope
          }?
          .target.parts.id
        }
        if kind != .postgres || !text.utf8.contains(0) { try await store.resume(target, .one(.access)) }
      }
      try await check("reason", kind, text) {
        try await store.stop(Stop(.app("reason\(number)"), .one(.access), since: 1, reason: text))
      } read: {
        try await store.stops().list.first { $0.target == .app("reason\(number)") }?.reason
      }
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `installations, their requests, devices and claims keep their texts`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    var number = 0
    func client(app: String = "Shop", detail: String? = nil) -> InstallationClient {
      number += 1
      return InstallationClient(id: .numbered(number), app: app, detail: detail)
    }
    func put(
      _ client: InstallationClient, app: String = "shop", user: InstallationUser? = nil,
      address: String = "::1"
    ) async throws {
      try await store.changeInstallation(InstallationScope(client.id), at: .noon()) { _ in
        (
          InstallationChange(
            installation: Installation(
              client: client, appID: app, user: user, address: address, secret: SHA256Digest(of: [1]),
              generation: 1,
              createdAt: .noon(), usedAt: .noon(), codes: .init(lastStep: 0, counter: 0, failures: 0))), ()
        )
      }
    }
    func ask(
      _ client: InstallationClient, app: String = "shop", code: String = "BCDFGHJK", address: String = "::1"
    ) async throws {
      let request = SHA256Digest(of: client.id.bytes)
      try await store.changeInstallation(InstallationScope(client.id, request: request), at: .noon()) { _ in
        (
          InstallationChange(
            enrolment: Enrolment(
              request: request, client: client, appID: app, userCode: code, address: address,
              createdAt: .noon(),
              expiresAt: .noon(600), forgottenAt: .noon(1200), answeredAt: .noon(), state: .pending)), ()
        )
      }
    }
    func request(_ id: InstallationID) async throws -> Enrolment? {
      try await store.installations(InstallationQuery(.pending, limit: 1000, at: .noon())).entries
        .compactMap {
          if case .enrolment(let found) = $0, found.client.id == id { found } else { nil }
        }.first
    }
    for text in Self.texts {
      let named = client(app: text)
      try await check("client_app", kind, text) {
        try await put(named)
      } read: {
        try await store.installation(named.id)?.client.app
      }
      let detailed = client(detail: text)
      try await check("client_detail", kind, text) {
        try await put(detailed)
      } read: {
        try await store.installation(detailed.id)?.client.detail
      }
      let ofApp = client()
      try await check("app", kind, text) {
        try await put(ofApp, app: text)
      } read: {
        try await store.installation(ofApp.id)?.appID
      }
      let ofCaller = client()
      try await check("caller", kind, text) {
        try await put(ofCaller, user: InstallationUser(callerID: text, subject: "bob"))
      } read: {
        try await store.installation(ofCaller.id)?.user?.callerID
      }
      let ofUser = client()
      try await check("subject", kind, text) {
        try await put(ofUser, user: InstallationUser(callerID: "users", subject: text))
      } read: {
        try await store.installation(ofUser.id)?.user?.subject
      }
      let addressed = client()
      try await check("address", kind, text) {
        try await put(addressed, address: text)
      } read: {
        try await store.installation(addressed.id)?.address
      }
      for (column, write, read) in [
        ("client_app", { try await ask($0) }, { $0.client.app }),
        ("app", { try await ask($0, app: text) }, { $0.appID }),
        ("code", { try await ask($0, code: text) }, { $0.userCode }),
        ("address", { try await ask($0, address: text) }, { $0.address }),
      ] as [(String, (InstallationClient) async throws -> Void, (Enrolment) -> String)] {
        let asking = client(app: column == "client_app" ? text : "Shop")
        try await check("\(column) of a request", kind, text) {
          try await write(asking)
        } read: {
          try await request(asking.id).map(read)
        }
      }
      let device = client()
      try await put(device)
      let registered = InstallationIdentity(device.id, generation: 1)
      try await check("token", kind, text) {
        try await store.registerDevice(
          StoredDevice(installation: registered, platform: "fcm", token: text, registered: .noon()))
      } read: {
        try await store.device(of: registered)?.token
      }
      let claim = StoredClaim(
        id: SHA256Digest(of: Array(text.utf8)), installation: .numbered(9000 + number), appID: text,
        created: .noon(),
        expires: .noon(60), receipts: [1])
      try await check("app of a claim", kind, text) {
        _ = try await store.openClaim(claim, most: 9)
      } read: {
        if case .live(let found) = try await store.claim(claim.id) { found.appID } else { nil }
      }
    }
    #expect(try await store.installations(subject: "ann", at: .noon()).isEmpty)
    await store.close()
  }
}
