// SPDX-License-Identifier: MIT
// A client for Callgate: tokens for Talkdesk's SDK, also by push, callbacks, appointments, and a credential for this phone.
//
// Version 0.2.0. Copy this file into your app, or add its folder as a package. It needs Foundation only, and iOS 16, macOS 13 or Linux.

import Foundation

#if canImport(CryptoKit)
  import CryptoKit
#endif
#if canImport(DeviceCheck)
  import DeviceCheck
#endif
#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

public actor Callgate {
  /// The value of `Authorization`. Read it from the Keychain or the user's session. Never put a secret into the code: anyone can unpack
  /// an app.
  public enum Credential: Sendable {
    case basic(user: String, password: String)
    case bearer(String)

    public var header: String {
      switch self {
      case .basic(let user, let password): "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
      case .bearer(let token): "Bearer " + token
      }
    }
  }

  private let base: URL
  private let session: URLSession
  private let credential: @Sendable () async -> Credential?
  private let appCheck: @Sendable () async -> String?
  private let phoneKey: PhoneKey?
  private var nonce: String?

  /// Calls `credential` before each request, so a renewed JWT or a new installation is used at once. Create a new `Callgate` when the user
  /// changes: this one holds the user's token. `phoneKey` is the phone's key, if it has one. `appCheck` returns a Firebase App Check token or
  /// nil, and is called before each request, since the SDK caches the token:
  /// `{ try? await AppCheck.appCheck().token(forcingRefresh: false).token }`.
  public init(
    _ base: URL, session: URLSession = Callgate.session, phoneKey: PhoneKey? = nil,
    credential: @escaping @Sendable () async -> Credential? = { nil },
    appCheck: @escaping @Sendable () async -> String? = { nil }
  ) {
    self.base = base
    self.session = session
    self.phoneKey = phoneKey
    self.appCheck = appCheck
    self.credential = credential
  }

  // MARK: Tokens

  private struct Token {
    var value: String
    var renewAt, end: ContinuousClock.Instant
  }
  private var token: Token?
  private var renewal: Task<String, any Error>?
  private var pausedUntil = ContinuousClock.now
  private var lastFailure: (any Error)?

  /// A token for Talkdesk's SDK. Parallel calls share one request. After 80% of its lifetime, a token is renewed while it is still in use.
  public func token() async throws -> String {
    let now = ContinuousClock.now
    if renewal == nil, now >= pausedUntil, now >= token?.renewAt ?? now {
      renewal = Task { try await self.fetchToken() }
    }
    if let token, now < token.end { return token.value }
    if let renewal { return try await renewal.value }
    // The server asked for a pause: an earlier request would only be refused again.
    throw lastFailure ?? Problem.noAnswer
  }

  private func fetchToken() async throws -> String {
    defer { renewal = nil }
    do {
      // Talkdesk's SDK waits 30 seconds for a response.
      let answer = try await send("GET", "/access", patience: .seconds(20))
      return answer.status == 202 ? try await pushedToken(since: answer.asked) : try keep(answer)
    } catch {
      lastFailure = error
      pausedUntil = .now + .seconds(Problem.pause((error as? Problem)?.retryAfter) ?? 1)
      throw error
    }
  }

  /// Stores the token of a response.
  private func keep(_ answer: Answer) throws(Problem) -> String {
    struct Content: Decodable {
      var accessToken: String
      var expiresIn: Double
    }
    let content: Content = try answer.decoded()
    let life = content.expiresIn
    guard !content.accessToken.isEmpty, life > 0, life < 1e9 else { throw .noAnswer }
    token = Token(
      value: content.accessToken, renewAt: answer.asked + .seconds(life * 0.8),
      end: answer.asked + .seconds(life * 0.95))
    return content.accessToken
  }

  // MARK: Tokens by push

  private var claim: (asked: ContinuousClock.Instant, result: Result<String, any Error>)?

  /// Registers this device, for an app whose tokens arrive by push. Call it at each start of the app, and whenever Apple or Google issues a
  /// new device token. `platform` is `apns`, `fcm` or `http`.
  public func register(device: String, platform: String) async throws {
    let body = ["platform": platform, "token": device]
    if let problem = try await send("PUT", "/installations/self/push", body: body).problem { throw problem }
  }

  /// Claims the token that a push announces. Pass the string `message` of each push: it is in FCM's `data`, or next to `aps`. Returns false if
  /// the push is about something else. A waiting `token()` gets the token.
  @discardableResult public func receive(_ message: String) async throws -> Bool {
    struct Notice: Decodable {
      var _id, _action: String
    }
    guard let notice = try? JSONDecoder().decode(Notice.self, from: Data(message.utf8)),
      notice._action == "access"
    else { return false }
    let asked = ContinuousClock.now
    do {
      claim = (
        asked, .success(try keep(try await send("POST", "/access/claim", body: ["claim": notice._id])))
      )
    } catch {
      claim = (asked, .failure(error))
      throw error
    }
    return true
  }

  /// Waits until `receive` has claimed a token. The push may arrive before the response that announces it.
  private func pushedToken(since asked: ContinuousClock.Instant) async throws -> String {
    while ContinuousClock.now < asked + .seconds(25) {
      if let claim, claim.asked >= asked { return try claim.result.get() }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw Problem(status: 410, code: "claim_expired")
  }

  // MARK: Callbacks

  /// One tap on "Call me". Save it before you send it, so that it survives a restart of the app. Delete it once its outcome is not
  /// `unanswered`. Its key keeps the phone from ringing twice.
  public struct Tap: Codable, Sendable {
    private(set) var key = UUID().uuidString
    private(set) var created = Date()
    /// E.164: `+` and digits. The server does not correct other formats.
    public let number: String
    public let context: [String: String]
    /// When the phone rings; nil for now.
    public let at: Date?
    /// False for a saved tap: it may have been sent before the app restarted.
    fileprivate var isNew = false
    private enum CodingKeys: CodingKey { case key, created, number, context, at }

    public init(number: String, context: [String: String] = [:], at: Date? = nil) {
      self.number = number
      self.context = context
      self.at = at
      isNew = true
    }

    /// Discard a saved tap that is older than an hour. The server remembers a key for 24 hours. After that, the phone would ring again.
    public var isExpired: Bool { abs(created.timeIntervalSinceNow) >= 3600 }
  }
  private var sent: Set<String> = []

  public struct Callback: Decodable, Sendable {
    public var id: String
    /// `accepted`, `scheduled`, `pending`, `failed`, `unknown`, `cancelled`, `expired`.
    public var status: String
    public var at: Date?
    /// The code that the agent asks for. Show it.
    public var verificationCode: String?
  }

  public enum Outcome: Sendable {
    /// The phone rings; with `at`, at that time.
    case accepted(Callback)
    /// The phone may ring. Create a new `Tap` only when the customer requests another call.
    case maybe(Problem)
    /// No call was requested.
    case refused(Problem)
    /// The outcome is unknown. Send the same `Tap` again later.
    case unanswered(Problem)

    /// The text for the customer, and what the app should do. Do not use those of the problem: they describe a single response. Only
    /// those of `refused` may prompt the customer to tap again.
    public var text: String { meaning.text }
    public var action: Problem.Action { meaning.action }

    private var meaning: (action: Problem.Action, text: String) {
      switch self {
      case .accepted: (.show, "We will call you.")
      case .maybe: Problem.meanings["outcome_unknown"]!
      case .refused(let problem): (problem.action, problem.text)
      case .unanswered(let problem):
        Problem.meanings[problem.code == "no_answer" ? "no_answer" : "in_progress"]!
      }
    }
  }

  /// Requests a callback. Throws only if the task is cancelled: then the outcome is unknown, too.
  public func call(_ tap: Tap) async throws -> Outcome {
    if tap.isExpired { return .maybe(.noAnswer) }
    let wasSent = !sent.insert(tap.key).inserted || !tap.isNew
    struct Body: Encodable {
      var contactPhoneNumber: String
      var context: [String: String]?
      var at: String?
    }
    let body = Body(
      contactPhoneNumber: tap.number, context: tap.context.isEmpty ? nil : tap.context,
      at: tap.at?.ISO8601Format())
    // The server can take up to 20 seconds to respond.
    let answer = try await send("POST", "/calls/callback", body: body, key: tap.key, patience: .seconds(60))
    do {
      return .accepted(try answer.decoded())
    } catch {
      switch error.code {
      case "outcome_unknown": return .maybe(error)
      case "upstream_failed" where error.id != nil:
        // Talkdesk returned an error. Only the record says whether Talkdesk may have accepted the call anyway.
        let record = try? await callback(error.id!)
        return record?.status == "failed" ? .refused(error) : .maybe(error)
      case "in_progress", "no_answer": return .unanswered(error)
      // After a try without a response, a refusal proves nothing: the server may have accepted the earlier try.
      default: return wasSent || answer.wasLost ? .unanswered(error) : .refused(error)
      }
    }
  }

  /// The record of a callback. If this caller has no such record, the code is `not_found`.
  public func callback(_ id: String) async throws -> Callback {
    try await send("GET", "/callbacks/\(id)").decoded()
  }

  /// Moves an appointment. `too_late` means that the call is in progress or over; `slot_full` has `alternatives`.
  public func move(_ id: String, to time: Date) async throws -> Callback {
    try await send("PATCH", "/callbacks/\(id)", body: ["at": time.ISO8601Format()]).decoded()
  }

  /// Cancels an appointment. Once this returns, the phone never rings. `too_late` means that the call is in progress or over.
  public func cancel(_ id: String) async throws -> Callback {
    try await send("DELETE", "/callbacks/\(id)").decoded()
  }

  public struct Availability: Decodable, Sendable {
    public struct Slot: Decodable, Sendable {
      public var start, end: Date
      public var free, total: Int
    }
    public var open: Bool
    public var nextChange: Date?
    public var slots: [Slot]?
  }

  /// Whether to show the button now. With a span of at most 31 days, also the times to book.
  public func availability(_ span: Range<Date>? = nil) async throws -> Availability {
    let query =
      span.map { "?from=\($0.lowerBound.ISO8601Format())&to=\($0.upperBound.ISO8601Format())" } ?? ""
    return try await send("GET", "/availability" + query).decoded()
  }

  // MARK: Installations

  /// This phone's credential. Save it in the Keychain with `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`, which excludes it from
  /// backups.
  public struct Installation: Codable, Sendable {
    public var clientID, clientSecret: String
    public var credential: Credential { .basic(user: clientID, password: clientSecret) }
  }

  /// Gets a credential for this phone. With the user's JWT as the credential, this returns at once. Otherwise `show` receives a code, which
  /// the customer reads to an operator, and this waits for the approval. `app` is a name that the operator sees. `serverApp` is the app in the
  /// server's configuration, if more than one has installations. `attest` proves that this is the genuine app, if the server requires that.
  public func enrol(
    clientID: UUID = UUID(), app: String, detail: String? = nil, serverApp: String? = nil,
    attest: Attester? = nil, show: @Sendable (_ userCode: String) async -> Void
  ) async throws -> Installation {
    struct Body: Encodable {
      var clientId, clientApp: String
      var clientDetail, jkt, requestId: String?
      var attestation: [String: String]?
    }
    struct Content: Decodable {
      var clientSecret, requestId, userCode: String?
      var interval: Double?
    }
    // Send the same values in each request, byte for byte: the server compares them.
    var body = Body(
      clientId: clientID.uuidString.lowercased(), clientApp: app, clientDetail: detail,
      jkt: phoneKey?.thumbprint)
    let query = serverApp.map { "?app=\($0)" } ?? ""
    let path = "/fetch-code" + query
    if let attest {
      struct Challenge: Decodable { var challenge: String }
      var challenge = ""
      if attest.needsChallenge {
        let content: Challenge = try await send("POST", "/attestation/challenge" + query).decoded()
        challenge = content.challenge
      }
      let lines = [
        "callgate-enrol-1", body.clientId, app, detail ?? "", challenge, phoneKey?.thumbprint ?? "",
      ]
      body.attestation = try await attest.attest(Data(lines.joined(separator: "\n").utf8), challenge)
    }
    while true {
      let content: Content = try await send("POST", path, body: body, patience: .seconds(60)).decoded()
      if let secret = content.clientSecret {
        return Installation(clientID: body.clientId, clientSecret: secret)
      }
      guard let request = content.requestId else { throw Problem.noAnswer }
      if body.requestId == nil, let code = content.userCode { await show(code) }
      // Until the secret is delivered, anyone with this value can get it: hold it in memory only, and do not log it.
      body.requestId = request
      body.attestation = nil
      try await Task.sleep(for: .seconds(min(Problem.pause(content.interval) ?? 5, 600)))
    }
  }

  /// Revokes this phone's credential. Delete the secret afterwards.
  public func unenrol() async throws {
    if let problem = try await send("DELETE", "/installations/self").problem { throw problem }
  }

  // MARK: Requests

  #if canImport(FoundationNetworking)
    /// Foundation on Linux never returns a 401 that offers HTTP Basic, unless a delegate cancels the request.
    private final class Challenges: NSObject, URLSessionTaskDelegate {
      func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
      ) { completionHandler(.cancelAuthenticationChallenge, nil) }
    }
    public static let session = URLSession(
      configuration: .ephemeral, delegate: Challenges(), delegateQueue: nil)
  #else
    /// Stores no token, cookie or credential on disk.
    public static let session = URLSession(configuration: .ephemeral)
  #endif

  private struct Answer {
    var status = 0
    var content: Data
    var problem: Problem?
    /// When the last try began. A token's lifetime counts from here: after a slow response, less of it is left.
    var asked: ContinuousClock.Instant
    /// Whether a try got no response, or a response that is not from Callgate.
    var wasLost: Bool

    func decoded<Content: Decodable>() throws(Problem) -> Content {
      if let problem { throw problem }
      do { return try Callgate.decoder.decode(Content.self, from: content) } catch { throw .noAnswer }
    }
  }

  private static let decoder: JSONDecoder = {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.dateDecodingStrategy = .iso8601
    return decoder
  }()

  /// Does not change the names in `context`.
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    return encoder
  }()

  /// Retries a request only when that is safe: without a response, after 409 `in_progress`, 429 and 503, and after a proxy's error. Waits as
  /// long as the server says, and starts no try that would exceed `patience`.
  private func send(
    _ method: String, _ path: String, body: (any Encodable & Sendable)? = nil, key: String? = nil,
    patience: Duration = .seconds(20)
  ) async throws -> Answer {
    guard let url = URL(string: base.absoluteString.trimmingSuffix("/") + path) else {
      throw Problem.noAnswer
    }
    var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 25)
    request.httpMethod = method
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    if let key { request.setValue(key, forHTTPHeaderField: "Idempotency-Key") }
    if let body {
      request.httpBody = try Self.encoder.encode(body)
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    }
    let end = ContinuousClock.now + patience
    // Read once: an Idempotency-Key belongs to one user.
    let credential = await credential()
    request.setValue(credential?.header, forHTTPHeaderField: "Authorization")
    request.setValue(await appCheck(), forHTTPHeaderField: "X-Firebase-AppCheck")
    var wasLost = false
    var hasNewNonce = false
    var pause = 1.0
    while true {
      let problem: Problem
      let asked = ContinuousClock.now
      if let phoneKey {
        request.setValue(
          try phoneKey.proof(method, url, nonce: nonce, for: credential), forHTTPHeaderField: "DPoP")
      }
      do {
        let limit = min(.seconds(25), max(.seconds(5), end - asked))
        let (content, response) = try await data(for: request, within: limit)
        let answer = response as! HTTPURLResponse
        if answer.statusCode < 400 {
          return Answer(status: answer.statusCode, content: content, asked: asked, wasLost: wasLost)
        }
        problem = (try? Self.decoder.decode(Problem.self, from: content)) ?? .unnamed(answer)
        nonce = answer.value(forHTTPHeaderField: "DPoP-Nonce") ?? nonce
        if problem.code == "invalid_proof", !hasNewNonce {
          hasNewNonce = true
          continue  // Nothing was done yet: send the same request with a proof for this nonce.
        }
        if problem.code.isEmpty { wasLost = true }
        guard problem.mayBeSentAgain else {
          return Answer(content: content, problem: problem, asked: asked, wasLost: wasLost)
        }
      } catch let error as URLError {
        try Task.checkCancellation()
        #if canImport(FoundationNetworking)
          if error.code == .cancelled {
            return Answer(content: Data(), problem: .challenged, asked: asked, wasLost: wasLost)
          }
        #endif
        wasLost = true
        problem = .noAnswer
      }
      let wait = Duration.seconds(Problem.pause(problem.retryAfter) ?? pause)
      if ContinuousClock.now + wait >= end {
        return Answer(content: Data(), problem: problem, asked: asked, wasLost: wasLost)
      }
      try await Task.sleep(for: wait)
      pause = min(2 * pause, 8)
    }
  }

  /// Proves, when the phone enrolls, that it runs the genuine app.
  public struct Attester: Sendable {
    let needsChallenge: Bool
    let attest: @Sendable (_ clientData: Data, _ challenge: String) async throws -> [String: String]

    /// A new Firebase App Check token, not one from the SDK's cache: `AppCheck.appCheck().token(forcingRefresh: true).token`.
    public static func appCheck(_ token: @escaping @Sendable () async throws -> String) -> Attester {
      Attester(needsChallenge: false) { _, _ in ["type": "app_check", "token": try await token()] }
    }

    /// A new App Attest key and Apple's attestation of it. Its client data hash is the SHA-256 of what `make` receives.
    public static func appAttest(
      _ make: @escaping @Sendable (_ clientData: Data) async throws -> (key: String, object: Data)
    ) -> Attester {
      Attester(needsChallenge: true) { clientData, challenge in
        let (key, object) = try await make(clientData)
        return [
          "type": "app_attest", "key_id": key, "object": object.base64EncodedString(), "challenge": challenge,
        ]
      }
    }

    #if canImport(DeviceCheck) && canImport(CryptoKit)
      /// App Attest on this iPhone. If `DCAppAttestService.shared.isSupported` is false, there is no attestation.
      public static var appAttest: Attester {
        appAttest { clientData in
          let service = DCAppAttestService.shared
          let key = try await service.generateKey()
          let hash = Data(SHA256.hash(data: clientData))
          return (key, try await service.attestKey(key, clientDataHash: hash))
        }
      }
    #endif
  }

  /// This phone's key, which signs a proof for each request (DPoP, RFC 9449).
  public struct PhoneKey: Sendable {
    private let x, y: Data
    private let sign: @Sendable (Data) throws -> Data
    private let sha256: @Sendable (Data) -> Data

    /// A P-256 key: `point` is its public key, x and y of 32 bytes each. `sign` returns the two numbers of ECDSA with SHA-256, 64 bytes.
    public init(
      point: Data, sign: @escaping @Sendable (Data) throws -> Data, sha256: @escaping @Sendable (Data) -> Data
    ) {
      x = point.prefix(32)
      y = point.suffix(32)
      self.sign = sign
      self.sha256 = sha256
    }

    #if canImport(CryptoKit)
      /// A key that never leaves the Secure Enclave: `try SecureEnclave.P256.Signing.PrivateKey()`. Save its `dataRepresentation` in the
      /// Keychain. It works on this phone only.
      public init(_ key: SecureEnclave.P256.Signing.PrivateKey) {
        self.init(
          point: key.publicKey.rawRepresentation, sign: { try key.signature(for: $0).rawRepresentation },
          sha256: { Data(SHA256.hash(data: $0)) })
      }
    #endif

    /// Members in the order of RFC 7638.
    private var jwk: String {
      #"{"crv":"P-256","kty":"EC","x":"\#(Self.base64URL(x))","y":"\#(Self.base64URL(y))"}"#
    }

    /// The key's thumbprint (RFC 7638).
    public var thumbprint: String { Self.base64URL(sha256(Data(jwk.utf8))) }

    /// A proof for one request. Each proof works once.
    func proof(_ method: String, _ url: URL, nonce: String?, for credential: Credential?) throws -> String {
      var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
      parts?.query = nil
      var claims: [String: Any] = [
        "jti": UUID().uuidString, "htm": method, "htu": parts?.string ?? url.absoluteString,
        "iat": Int(Date().timeIntervalSince1970),
      ]
      claims["nonce"] = nonce
      if case .bearer(let token)? = credential { claims["ath"] = Self.base64URL(sha256(Data(token.utf8))) }
      let header = #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(jwk)}"#
      let content = try JSONSerialization.data(withJSONObject: claims)
      let input = Self.base64URL(Data(header.utf8)) + "." + Self.base64URL(content)
      return input + "." + Self.base64URL(try sign(Data(input.utf8)))
    }

    private static func base64URL(_ data: Data) -> String {
      data.base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
  }

  /// Limits the whole try. `timeoutInterval` only limits the time between two packets.
  private func data(for request: URLRequest, within limit: Duration) async throws -> (Data, URLResponse) {
    try await withThrowingTaskGroup(of: (Data, URLResponse).self) { [session] group in
      defer { group.cancelAll() }
      group.addTask { try await session.data(for: request) }
      group.addTask {
        try await Task.sleep(for: limit)
        throw URLError(.timedOut)
      }
      return try await group.next()!
    }
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}

// MARK: Problems

/// Why there is no result: a `text` for the customer and an `action` for the app.
public struct Problem: Error, Decodable, Sendable {
  /// What the app should do. `send` has already retried where that was safe.
  public enum Action: Sendable {
    /// Let the customer try again: after `retryAfter`, if the server sent it.
    case later
    /// Sign in again. If the phone has its own credential, delete the secret and enroll again.
    case authorize
    /// Start the enrollment again. After `taken`, use a new UUID.
    case enrol
    /// Let the customer correct the number, or what `fields` names.
    case correct
    /// Offer other times: `alternatives`, or from `nextOpen` on.
    case chooseTime
    /// Request the record, and show its status.
    case look
    /// The phone may ring. Do not repeat the request with a new key.
    case maybe
    /// Show the text. Repeating the request does not help.
    case show
    /// The app or its configuration has a bug: send `code` and `instance` to your error reports.
    case report
  }
  public struct Field: Decodable, Sendable {
    public var name, description: String
  }

  public var status: Int
  public var code: String
  /// The id of the request in the server's log.
  public var instance: String?
  public var fields: [Field]?
  public var retryAfter: Double?
  public var nextOpen: Date?
  public var alternatives: [Date]?
  /// The id of the callback; for `duplicate`, of the first callback.
  public var id: String?
  public var verificationCode: String?

  static let noAnswer = Problem(status: 0, code: "no_answer")
  /// A 401 whose body did not arrive.
  fileprivate static let challenged = Problem(status: 401, code: "unauthenticated")

  /// A response that is not from Callgate, such as a proxy's.
  fileprivate static func unnamed(_ answer: HTTPURLResponse) -> Problem {
    let wait = answer.value(forHTTPHeaderField: "Retry-After")?.wholeMatch(of: /[0-9]{1,9}/)
    return Problem(status: answer.statusCode, code: "", retryAfter: wait.flatMap { Double($0.output) })
  }

  /// The pause that the server requests, at least one second; nil for anything that is not a number.
  fileprivate static func pause(_ seconds: Double?) -> Double? {
    seconds.flatMap { $0 >= 0 && $0 < 1e9 ? max(1, $0) : nil }
  }

  fileprivate var mayBeSentAgain: Bool {
    status == 429 || status == 503 || code == "in_progress" || (status >= 500 && code.isEmpty)
  }

  public var text: String { meaning.text }
  public var action: Action { meaning.action }

  /// A newer server may have more codes. For those, decide by the status.
  private var meaning: (action: Action, text: String) {
    if let known = Self.meanings[code] { return known }
    return switch status {
    case 401: (.authorize, "Please sign in again.")
    case 403, 404, 409, 410: (.show, "We cannot do this right now.")
    case 400..<500 where status != 429: (.report, "Something is wrong with this app. Please update it.")
    default: (.later, "We cannot do this at the moment. Please try again later.")
    }
  }

  fileprivate static let meanings: [String: (action: Action, text: String)] = [
    "malformed_request": (.report, "Something is wrong with this app. Please update it."),
    "invalid_json": (.report, "Something is wrong with this app. Please update it."),
    "unauthenticated": (.authorize, "Please sign in again."),
    "invalid_token": (.authorize, "Please sign in again."),
    "invalid_client": (.authorize, "This phone is no longer registered. Please register it again."),
    "invalid_proof": (.report, "Please update this app."),
    "attestation_required": (.report, "Please update this app."),
    "attestation_failed": (.show, "Please install this app from the official app store."),
    "closed": (.chooseTime, "We are closed at this time. Please choose another."),
    "denied": (.show, "This is not available to you. Please contact us."),
    "number_not_proven": (.correct, "Please confirm that this phone number is yours."),
    "consent_required": (.correct, "Please agree to be called first."),
    "number_not_allowed": (.correct, "We cannot call this number. Please enter another."),
    "no_agents": (.later, "All our agents are busy. Please try again in a minute."),
    "stopped": (.later, "We are not taking requests right now."),
    "not_found": (.show, "We can no longer find this call."),
    "unknown_app": (.report, "Something is wrong with this app. Please update it."),
    "method_not_allowed": (.report, "Something is wrong with this app. Please update it."),
    "request_timeout": (.later, "Your connection is slow. Please try again."),
    "too_many": (.show, "You have registered too many phones. Please remove one first."),
    "taken": (.enrol, "This phone is registered to another user. Please try again."),
    "request_expired": (.enrol, "Your code is no longer valid. Please ask for a new one."),
    "already_delivered": (.enrol, "Your code is no longer valid. Please ask for a new one."),
    "claim_expired": (.later, "This is no longer valid. Please try again."),
    "challenge_expired": (.later, "This is no longer valid. Please try again."),
    "duplicate": (.look, "You have already asked us to call this number."),
    "in_progress": (.later, "We are still working on your call."),
    "slot_full": (.chooseTime, "This time is taken. Please choose another."),
    "too_late": (.look, "This call can no longer be changed."),
    "no_device": (.report, "Please allow notifications for this app."),
    "content_too_large": (.correct, "Your text is too long. Please shorten it."),
    "target_too_long": (.report, "Something is wrong with this app. Please update it."),
    "unsupported_media_type": (.report, "Something is wrong with this app. Please update it."),
    "invalid_request": (.correct, "Please check what you entered."),
    "idempotency_mismatch": (.report, "Something is wrong with this app. Please update it."),
    "slow_down": (.later, "Please wait a moment."),
    "rate_limited": (.later, "Too many requests. Please try again in a moment."),
    "quota_exhausted": (.later, "You have asked for too many calls. Please try again later."),
    "upstream_rate_limited": (.later, "We are getting a lot of calls right now. Please try again shortly."),
    "fields_too_large": (.report, "Something is wrong with this app. Please update it."),
    "internal": (.later, "Something went wrong on our side. Please try again later."),
    "upstream_refused": (.show, "We cannot call you at the moment."),
    "upstream_failed": (.look, "Something went wrong on our side."),
    "upstream_unavailable": (.later, "We cannot call you at the moment. Please try again shortly."),
    "audit_unavailable": (.later, "We cannot call you at the moment. Please try again shortly."),
    "store_unavailable": (.later, "We cannot call you at the moment. Please try again shortly."),
    "attestation_unavailable": (.later, "We cannot call you at the moment. Please try again shortly."),
    "overloaded": (.later, "We are getting a lot of requests right now. Please try again shortly."),
    "upstream_timeout": (.later, "We cannot call you at the moment. Please try again shortly."),
    "outcome_unknown": (.maybe, "We may be calling you. Please keep your phone nearby."),
    "no_answer": (.later, "We could not reach our server. Check your connection and try again."),
  ]
}

// MARK: Talkdesk's SDK

/// The authorization delegate of Talkdesk's SDK. In your app, with the SDK:
///
///     extension AuthorizationController: MediaSessionAuthorizationDelegate {}
///
///     let controller = AuthorizationController(callgate) { answer in
///       switch answer {
///       case .success(let token): TalkdeskSDK.authorize(with: .accessToken(token))
///       case .failure(let problem): TalkdeskSDK.authorize(with: .notAuthorized(reason: problem.text))
///       }
///     }
///     TalkdeskSDK.authorizationDelegate = controller    // and store it in a property of your app
public final class AuthorizationController: Sendable {
  private let callgate: Callgate
  private let authorize: @MainActor @Sendable (Result<String, Problem>) -> Void

  public init(
    _ callgate: Callgate, authorize: @escaping @MainActor @Sendable (Result<String, Problem>) -> Void
  ) {
    self.callgate = callgate
    self.authorize = authorize
  }

  /// The SDK calls this when an interaction starts without a token, and when its token has expired. It waits 30 seconds for a response.
  public func shouldAuthorize() {
    Task {
      do {
        await authorize(.success(try await callgate.token()))
      } catch {
        await authorize(.failure(error as? Problem ?? .noAnswer))
      }
    }
  }
}
