// Sets up a phone that is asked before its calls, for the tests of dialogs.

import Foundation
import Gate
import HTTP
import Installations
import JOSE
import JSON
import Notices
import Platform
import Store
import Testing

@testable import Gateway

/// A phone that is asked before its calls, and the notifications that the store would send.
struct DialogFixture: Sendable {
  let appointments: AppointmentFixture
  let phone: Fields
  let installation: String

  init(confirm: String = "{}", rules: String = "[]", code: Bool = true) async throws {
    appointments = try await AppointmentFixture(
      "{ slot: 1h, per_slot: 9, earliest: 0s, per_number: 9, confirm: \(confirm) }", rules: rules,
      more: """
        apps: { shop: { installations: { authorize: [user] }, callbacks: { verification_code: \(code) } } }
        notices:
          external_url: "https://calls.example/base/"
          http: { url: "http://127.0.0.1:9/notices", secret_variable: HOOK_SECRET }
        """)
    let id = UUID().uuidString.lowercased()
    installation = id
    phone = try await appointments.enrol(id, "ann")
    #expect(try await register("canary-device", by: phone) == 204)
  }

  /// Registers the device of an installation, and returns the status.
  func register(_ token: String, by phone: Fields) async throws -> Int {
    try await appointments.calls.send(
      .put, "/installations/self/push", #"{"platform":"http","token":"\#(token)"}"#, fields: phone
    ).status
  }

  private var store: any CallbackNoticeStore {
    get throws { try #require(appointments.calls.service.notices) }
  }

  /// A notification's ID, made of one character.
  static func id(_ character: Character = "A") -> String { String(repeating: character, count: 32) }

  /// Books a call, and takes the notification with the question if one is waiting.
  func book(_ at: String, id: String = id()) async throws -> CallingFixture.Answer {
    let booked = try await appointments.book(at, fields: phone)
    #expect(booked.status == 201)
    try await take(id)
    return booked
  }

  /// Takes the next notification before its time, as if it were sent, and returns its action; nil if none is
  /// waiting.
  @discardableResult
  func take(_ id: String) async throws -> NoticeAction? {
    let now = Instant(SystemClock().unixTime)
    let later = now.advanced(by: .seconds(40 * 86_400))
    let times = now.advanced(by: .seconds(-3600))...later
    guard
      let due = try await store.dueNotices(on: "http", questions: times, news: times, most: 9).first
    else { return nil }
    let notice = try #require(NoticeID(id))
    #expect(
      try await store.takeNotice(
        due, id: SHA256Digest(of: Array(notice.exposed.utf8)), until: later, at: now))
    return due.action
  }

  /// Ends an appointment without telling its app.
  func endUntold(_ id: String?) async throws {
    let id = try #require(CallbackID(id ?? ""))
    let result = try await appointments.calls.service.records.end(
      id, .cancelled, at: Instant(SystemClock().unixTime))
    guard case .ended = result else { throw NotEnded() }
  }

  struct NotEnded: Error {}

  /// Whether the app has read the end of a callback.
  func isTold(_ id: String?) async throws -> Bool {
    let id = try #require(CallbackID(id ?? ""))
    return try await appointments.calls.service.records.callbacks([id]).first?.notices?.state == .told
  }

  /// The status of a HEAD request for a callback.
  func head(_ id: String?) async throws -> Int {
    try await appointments.calls.send(.head, "/callbacks/\(id ?? "")", fields: phone).status
  }

  /// Saves a token that waits to be claimed.
  func openClaim(_ id: String) async throws {
    let now = Instant(SystemClock().unixTime)
    let named = try #require(InstallationID(installation))
    let directory = try #require(appointments.calls.service.directory)
    let kept = try #require(try await directory.look(named))
    let claim = StoredClaim(
      id: SHA256Digest(of: Array(id.utf8)), installation: kept.installation.identity, appID: "shop",
      created: now, expires: now.advanced(by: .seconds(60)), receipts: [])
    let claims = try #require(appointments.calls.service.claims)
    #expect(try await claims.openClaim(claim, most: 8).isEmpty)
  }

  func post(_ action: String, _ id: String = id()) async throws -> CallingFixture.Answer {
    try await appointments.calls.send(.post, "/genesys/1/service/\(id)/\(action)", fields: [:])
  }

  func look(_ id: String?, query: String = "") async throws -> CallingFixture.Answer {
    try await appointments.look(id, query: query, fields: phone)
  }

  func move(_ id: String?, to at: String) async throws -> CallingFixture.Answer {
    try await appointments.move(id, to: at, fields: phone)
  }

  func cancel(_ id: String?) async throws -> CallingFixture.Answer {
    try await appointments.cancel(id, fields: phone)
  }

  /// The ids of the items in a menu.
  static func items(_ menu: CallingFixture.Answer) -> [String?] {
    menu.json?["_content"]?.array?.first?["_group_content"]?.array?.map { $0["_dialog_id"]?.string } ?? []
  }

  func end() async throws -> [JSONValue] { try await appointments.end() }
}

extension AppointmentFixture {
  /// Enrolls an installation of a user, and returns its credential.
  func enrol(_ id: String, _ user: String) async throws -> Fields {
    let answer = try await calls.call(
      path: "/fetch-code", body: #"{"client_id":"\#(id)","client_app":"Shop"}"#, fields: try Self.user(user))
    let secret = try #require(answer.json?["client_secret"]?.string)
    return ["Authorization": "Basic " + Base64.encode(Array("\(id):\(secret)".utf8))]
  }
}
