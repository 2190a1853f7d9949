// Runs a gateway with appointments, and with its store in a file, for the tests of their endpoints.

import Foundation
import Gate
import HTTP
import JOSE
import JSON
import Platform

@testable import Gateway
@testable import RoomSupport

/// A server with appointments, and its callers: one with a password, the users of an issuer, and a stranger.
struct AppointmentFixture: Sendable {
  let calls: CallingFixture
  private let folder: URL
  /// The file of the store.
  var file: String { folder.appending(path: "state.sqlite3").path }

  static let section = "{ slot: 1h, per_slot: 2, horizon: 30d, earliest: 1m }"
  static let stranger: Fields = ["X-API-Key": "canary-strangers-key"]
  private static let secret = "canary-secret-of-32-octets-at-least"

  /// - Parameter appointments: The section; nil for a server without it.
  init(_ appointments: String? = section, rules: String = "[]", more: String = "") async throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "appointments-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let key = Hex.encode(SHA256.digest(Array("canary-strangers-key".utf8)))
    calls = CallingFixture(
      try await RunningService(
        preparing: CallingFixture.environment.merging([
          "CALLGATE_STATE": folder.appending(path: "state.sqlite3").path,
          "CALLGATE_STORE_KEY": Base64.encode([UInt8](repeating: 7, count: 32)),
          "CALLGATE_ADMIN_TOKEN": "canary-operators-token", "USERS_SECRET": Self.secret,
          "HOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjU",
        ]) { $1 },
        yaml: """
          callers:
            - { id: users, jwt: { issuer: "https://id.example", audience: callgate, hs256_secret_variable: USERS_SECRET } }
            - { id: stranger, api_key: { sha256: "\(key)" } }
          rules: \(rules)
          \(appointments.map { "appointments: \($0)" } ?? "")
          \(more)
          """))
  }

  /// Ends everything and returns the audit lines in order.
  @discardableResult
  func end() async throws -> [JSONValue] {
    let lines = try await calls.end()
    try FileManager.default.removeItem(at: folder)
    return lines
  }

  static func user(_ name: String) throws -> Fields {
    let now = SystemClock().unixTime.seconds
    let claims: JSONObject = [
      "iss": "https://id.example", "aud": "callgate", "sub": .string(name), "iat": .number(JSONNumber(now)),
      "exp": .number(JSONNumber(now + 600)),
    ]
    let key = try SymmetricKey(Secret(secret), algorithm: .HS256)
    return [
      "Authorization": "Bearer \(JWS.sign(header: ["alg": "HS256"], payload: claims.serialized(), with: key))"
    ]
  }

  /// A time some seconds from now, as text in UTC.
  static func time(in seconds: Int64) -> String {
    Instant(seconds: SystemClock().unixTime.seconds + seconds).rfc3339
  }

  /// The first hour that begins after the tests began.
  private static let firstHour = (SystemClock().unixTime.seconds / 3600 + 1) * 3600

  /// The start of an hour, `hours` after the first one.
  static func hour(_ hours: Int64) -> String { Instant(seconds: firstHour + hours * 3600).rfc3339 }

  /// Books a call.
  func book(
    _ at: String, _ number: String = customerNumber, key: String? = nil, query: String = "",
    fields: Fields = CallingFixture.credentials
  ) async throws -> CallingFixture.Answer {
    try await calls.call(
      path: "/calls/callback" + query, key: key,
      body: #"{"contact_phone_number":"\#(number)","at":"\#(at)"}"#, fields: fields)
  }

  func move(
    _ id: String?, to at: String, fields: Fields = CallingFixture.credentials
  ) async throws -> CallingFixture.Answer {
    try await calls.send(.patch, "/callbacks/\(id ?? "")", #"{"at":"\#(at)"}"#, fields: fields)
  }

  func cancel(
    _ id: String?, fields: Fields = CallingFixture.credentials
  ) async throws -> CallingFixture.Answer {
    try await calls.send(.delete, "/callbacks/\(id ?? "")", fields: fields)
  }

  func look(
    _ id: String?, query: String = "", fields: Fields = CallingFixture.credentials
  ) async throws -> CallingFixture.Answer {
    try await calls.look("/callbacks/\(id ?? "")\(query)", fields)
  }

  /// The description of the first invalid field; empty if there is none.
  static func fault(_ answer: CallingFixture.Answer) -> String {
    answer.json?["fields"]?.array?.first?["description"]?.string ?? ""
  }
}
