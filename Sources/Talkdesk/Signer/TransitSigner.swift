// Signs with a key that never leaves Vault or OpenBao (Transit secrets engine).

import Dispatch
public import HTTP
public import JOSE
import JSON
public import Platform
import Texts
public import Tokens

/// A signer that uses Vault or OpenBao over HTTP. It pins one version of the key, and returns only signatures
/// that the public key verifies.
///
/// Failures are a `TokenExchangeError`, so they cool down like those of an authorization server.
public actor TransitSigner {
  /// The settings of the key and of the login.
  public nonisolated let settings: TransitSettings
  public nonisolated let algorithm: SignatureAlgorithm
  private nonisolated let transport: any HTTPTransport
  private nonisolated let time: any TimeSource
  /// The shortest time between two renewals. Near the end of its longest life, a login gets shorter and
  /// shorter leases.
  private static let shortestWait = Duration.seconds(1)
  private static let files = DispatchQueue(label: "callgate.signer.files")
  private var session: Session?
  /// The login in progress. A secret id may work for only one login, so concurrent requests share the login.
  private var loggingIn: Task<Result<Session, TokenExchangeError>, Never>?
  private var renewal: Task<Void, Never>?
  private var pinned: Pinned?

  /// The version of the key that signs.
  public struct Pinned: Sendable {
    public let version: Int64
    public let key: PublicKey
    /// The newest version when the key was read.
    public let latest: Int64
    /// The versions that Vault signs with, the newest first.
    public let versions: [Int64]
  }

  private struct Session {
    let token: Secret
    /// When the token expires; nil if another program renews it, or if it never expires.
    var endsAt: Expiry?
    var isRenewable = false
  }

  /// Creates a signer. It sends nothing before it is first used.
  public init(
    _ settings: TransitSettings, algorithm: SignatureAlgorithm, transport: any HTTPTransport,
    time: any TimeSource
  ) {
    self.settings = settings
    self.algorithm = algorithm
    self.transport = transport
    self.time = time
  }

  private init(_ other: TransitSigner, version: Int64, session: Session?) {
    var settings = other.settings
    settings.version = version
    self.settings = settings
    algorithm = other.algorithm
    transport = other.transport
    time = other.time
    self.session = session
  }

  deinit { renewal?.cancel() }

  /// A signer that uses another version of the key. It reuses this signer's login while that is valid,
  /// because a secret id may work for only one login.
  package func pinned(to version: Int64) -> TransitSigner {
    TransitSigner(self, version: version, session: session)
  }

  /// The signature of a message in JWS form, as `Signer.sign` makes it.
  public func sign(_ message: [UInt8], deadline: MonotonicTime) async throws(TokenExchangeError) -> [UInt8] {
    let deadline = min(deadline, time.now + settings.timeout)
    let pinned = try await pinned(deadline)
    let reply: InboundResponse
    do throws(TokenExchangeError) {
      reply = try await ask(
        .post, "sign/\(settings.key)", body(of: message, version: pinned.version), deadline)
    } catch {
      // Vault responds with 500 if the version is below `min_encryption_version`.
      if case .unavailable(500, _) = error { try await checkVersion(pinned.version, deadline) }
      throw error
    }
    guard let signature = VaultAnswer.signature(in: reply.content) else {
      throw .unusableReply(.notASignature)
    }
    // Talkdesk has one public key for the key id, and would refuse another version's signature.
    guard signature.version == pinned.version,
      pinned.key.verify(signature: signature.bytes, of: message, algorithm: algorithm)
    else { throw .unusableReply(.wrongSignature) }
    return signature.bytes
  }

  /// The version that signs. It is read once, and does not change while the signer lives.
  public func pinned(within timeout: Duration) async throws(TokenExchangeError) -> Pinned {
    try await pinned(time.now + min(timeout, settings.timeout))
  }

  // MARK: The key

  private func pinned(_ deadline: MonotonicTime) async throws(TokenExchangeError) -> Pinned {
    if let pinned { return pinned }
    let key = try await readKey(deadline)
    let version = settings.version ?? key.latest
    try check(version, of: key)
    let publicKey = try publicKey(version, of: key)
    guard publicKey.fits(algorithm) else {
      throw .signingFailed(
        "the key \(settings.key) is \(publicKey.kind), which does not fit \(algorithm.rawValue)")
    }
    // Another task may have pinned a version meanwhile. All tasks use the same one.
    let found =
      pinned
      ?? Pinned(
        version: version, key: publicKey, latest: key.latest, versions: key.usableVersions)
    pinned = found
    return found
  }

  private func readKey(_ deadline: MonotonicTime) async throws(TokenExchangeError) -> VaultAnswer.Key {
    let reply = try await ask(.get, "keys/\(settings.key)", nil, deadline)
    guard let key = VaultAnswer.key(in: reply.content) else { throw .unusableReply(.notAKey) }
    return key
  }

  private func publicKey(
    _ version: Int64, of key: VaultAnswer.Key
  ) throws(TokenExchangeError) -> PublicKey {
    guard key.signs else {
      throw .signingFailed(
        "the key \(settings.key) has the type \(key.type), which cannot sign (supports_signing is false): use one such as ecdsa-p256"
      )
    }
    let found: PublicKey?
    do throws(KeyError) {
      found = try key.publicKey(version)
      if case .rsa(let bits)? = found?.kind, bits > JWKSet.maximumRSABits {
        throw KeyError.tooLarge(bits: bits)
      }
    } catch {
      switch error {
      case .weak(let bits), .tooLarge(let bits):
        throw .signingFailed(
          "the key \(settings.key) has \(bits) bits, and RSA keys need 2048 to \(JWKSet.maximumRSABits)")
      default: throw .signingFailed("version \(version) of the key \(settings.key) cannot be used: \(error)")
      }
    }
    guard let found else {
      throw .signingFailed(
        "the key \(settings.key) of type \(key.type) has no version \(version) with a public key")
    }
    return found
  }

  private func check(_ version: Int64, of key: VaultAnswer.Key) throws(TokenExchangeError) {
    guard version < key.minimum else { return }
    throw .signingFailed(
      "Vault does not sign with version \(version) of the key \(settings.key): its min_encryption_version is \(key.minimum)"
    )
  }

  /// Throws if Vault no longer signs with a version. If the key cannot be read, nothing is thrown.
  private func checkVersion(_ version: Int64, _ deadline: MonotonicTime) async throws(TokenExchangeError) {
    let key: VaultAnswer.Key
    do throws(TokenExchangeError) { key = try await readKey(deadline) } catch { return }
    try check(version, of: key)
  }

  private func body(of message: [UInt8], version: Int64) -> [UInt8] {
    var object: JSONObject = [
      "input": .string(Base64.encode(message)), "key_version": .number(JSONNumber(version)),
      "hash_algorithm": .string(algorithm.hashName),
    ]
    switch algorithm {
    case .ES256, .ES384, .ES512: object["marshaling_algorithm"] = "jws"
    case .PS256, .PS384, .PS512:
      object["signature_algorithm"] = "pss"
      // By default, Vault makes the salt as long as the key allows. RFC 7518 §3.5 requires the length of the
      // hash.
      object["salt_length"] = "hash"
    case .RS256, .RS384, .RS512: object["signature_algorithm"] = "pkcs1v15"
    case .EdDSA: break
    }
    return object.serialized()
  }

  // MARK: Requests

  /// Sends a request with a token. A 403 may mean that the token has expired, so the request is sent once
  /// more if another token is available.
  private func ask(_ method: Method, _ path: String, _ content: [UInt8]?, _ deadline: MonotonicTime)
    async throws(TokenExchangeError) -> InboundResponse
  {
    let path = "\(settings.mount)/\(path)"
    let first = try await session(deadline)
    let reply = try await send(method, path, content, first.token, deadline)
    guard reply.status == 403 else { return try judged(reply) }
    let second = try await session(deadline, insteadOf: first)
    guard !second.token.isEqual(to: first.token.exposedBytes()) else { return try judged(reply) }
    return try judged(try await send(method, path, content, second.token, deadline))
  }

  private func send(
    _ method: Method, _ path: String, _ content: [UInt8]?, _ token: Secret?, _ deadline: MonotonicTime
  ) async throws(TokenExchangeError) -> InboundResponse {
    let rest = deadline - time.now
    guard rest > .zero else { throw .timedOut(sent: false) }
    // Vault Agent can require this field, as a protection against server-side request forgery.
    var fields: Fields = ["Accept": "application/json", "X-Vault-Request": "true"]
    if content != nil { fields["Content-Type"] = "application/json" }
    if let namespace = settings.namespace { fields["X-Vault-Namespace"] = namespace }
    if let token { fields["X-Vault-Token"] = token.exposedString() }
    do throws(TransportError) {
      return try await transport.send(
        OutboundRequest(
          method: method, url: "\(settings.address)/v1/\(path)", fields: fields, content: content ?? [],
          timeout: rest, maximumContentLength: VaultAnswer.longest))
    } catch {
      switch error.reason {
      case .timedOut: throw .timedOut(sent: error.sent)
      case .malformedResponse: throw .unusableReply(.malformed)
      case .responseTooLarge: throw .unusableReply(.tooLarge)
      case .invalidURL, .nameResolution, .connect, .tls, .connectionLost, .cancelled, .overloaded:
        throw .transport(error)
      }
    }
  }

  /// Returns the reply if it is a 200 with content, and throws otherwise.
  private func judged(_ reply: InboundResponse) throws(TokenExchangeError) -> InboundResponse {
    switch reply.status {
    case 200:
      if let coding = reply.contentCoding { throw .unusableReply(.compressed(coding)) }
      return reply
    case 204: throw .unusableReply(.empty)
    case 400, 401, 403, 404, 405:
      throw .refused(status: reply.status, code: VaultAnswer.errors(in: reply.content))
    case 429:
      throw .rateLimited(retryAfter: RetryAfter.read(reply.fields, now: time.unixTime.seconds))
    // A standby that does not forward requests redirects to the active server.
    case 301, 302, 303, 307, 308:
      throw .redirected(
        status: reply.status, host: reply.fields["Location"].flatMap(VaultAnswer.host(ofLocation:)))
    // 412, 472, 473: a standby that cannot answer. 503: sealed.
    case 408, 412, 472, 473, 500...599:
      throw .unavailable(
        status: reply.status, retryAfter: RetryAfter.read(reply.fields, now: time.unixTime.seconds))
    default: throw .unusableReply(.status(reply.status))
    }
  }

  // MARK: Tokens

  /// A token that can be used.
  /// - Parameter refused: A token that Vault refused.
  private func session(_ deadline: MonotonicTime, insteadOf refused: Session? = nil)
    async throws(TokenExchangeError) -> Session
  {
    if case .token(let place) = settings.login {
      return Session(token: try await secret(in: place, limit: VaultAnswer.longestToken))
    }
    guard let session, session.endsAt.map({ time.now < $0 }) ?? true,
      // Another task may have logged in meanwhile.
      refused.map({ !$0.token.isEqual(to: session.token.exposedBytes()) }) ?? true
    else { return try await logIn(deadline) }
    return session
  }

  // MARK: Renewing

  /// Renews a login before it expires, even while no signature is needed, because another login may not be
  /// possible.
  private func renewing(_ session: Session, at due: MonotonicTime) -> Task<Void, Never> {
    Task.detached { [weak self, time] in
      var due = due
      // A canceled wait means that another login or renewal has taken over, or that the signer is gone.
      while await time.hasSlept(until: due) {
        guard let next = await self?.renewAhead(session) else { return }
        due = next
      }
    }
  }

  /// - Returns: When to try again; nil if nothing is left to do.
  private func renewAhead(_ old: Session) async -> MonotonicTime? {
    guard let session, let end = session.endsAt, session.token.isEqual(to: old.token.exposedBytes()) else {
      return nil
    }
    let deadline = time.now + settings.timeout
    do throws(TokenExchangeError) {
      if session.isRenewable {
        try await renew(session, deadline)
      } else {
        _ = try await logIn(deadline)
      }
      return nil
    } catch {
      // The login remains valid until it expires.
      let next = time.now + max(Self.shortestWait, (end - time.now) / 4)
      return next < end ? next : nil
    }
  }

  private func renew(_ session: Session, _ deadline: MonotonicTime) async throws(TokenExchangeError) {
    do throws(TokenExchangeError) {
      let reply = try judged(
        try await send(.post, "auth/token/renew-self", Array("{}".utf8), session.token, deadline))
      _ = try taken(reply)
    } catch {
      guard case .refused = error else { throw error }
      _ = try await logIn(deadline)
    }
  }

  private func logIn(_ deadline: MonotonicTime) async throws(TokenExchangeError) -> Session {
    if let loggingIn { return try await loggingIn.value.get() }
    let login = Task<Result<Session, TokenExchangeError>, Never> {
      defer { loggingIn = nil }
      do throws(TokenExchangeError) {
        return .success(try await newSession(deadline))
      } catch {
        return .failure(error)
      }
    }
    loggingIn = login
    return try await login.value.get()
  }

  private func newSession(_ deadline: MonotonicTime) async throws(TokenExchangeError) -> Session {
    let path: String
    let content: JSONObject
    switch settings.login {
    case .token: preconditionFailure("a token needs no login")
    case .appRole(let roleID, let place, let mount):
      path = mount
      content = [
        "role_id": .string(roleID), "secret_id": .string(try await secret(in: place).exposedString()),
      ]
    case .kubernetes(let role, let place, let mount):
      path = mount
      content = ["role": .string(role), "jwt": .string(try await secret(in: place).exposedString())]
    }
    let reply = try await send(.post, "auth/\(path)/login", content.serialized(), nil, deadline)
    return try taken(try judged(reply))
  }

  private func taken(_ reply: InboundResponse) throws(TokenExchangeError) -> Session {
    guard let login = VaultAnswer.login(in: reply.content) else { throw .unusableReply(.notALogin) }
    var session = Session(token: login.token, isRenewable: login.isRenewable)
    renewal?.cancel()
    if login.lease > 0 {
      let now = time.now
      session.endsAt = Expiry(now + .seconds(login.lease))
      renewal = renewing(
        session, at: now + max(Self.shortestWait, .seconds(login.lease) * 2 / 3))
    }
    self.session = session
    return session
  }

  /// A secret without a byte order mark, and without line breaks at its end: no token has them.
  private func secret(in place: VaultSecret, limit: Int = 16 * 1024) async throws(TokenExchangeError)
    -> Secret
  {
    var bytes: [UInt8]
    let name: String
    switch place {
    case .variable(let variable):
      name = "the variable \(variable)"
      bytes = Array((ProcessEnvironment.variables()[variable] ?? "").utf8)
    case .file(let path):
      name = path
      bytes = try await content(of: path, limit: limit + 1)
    }
    guard !bytes.isUTF16 else { throw .signingFailed("\(name) is UTF-16: save it as UTF-8") }
    bytes.dropByteOrderMark()
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    guard (1...limit).contains(bytes.count), bytes.allSatisfy(VaultAnswer.isTokenOctet) else {
      throw .signingFailed("\(name) contains no token, secret id or JWT")
    }
    return Secret(wiping: &bytes)
  }

  private func content(of path: String, limit: Int) async throws(TokenExchangeError) -> [UInt8] {
    let result: Result<[UInt8], SystemError> = await withCheckedContinuation { continuation in
      // A disk may hang, which must not block a thread of the concurrency pool.
      Self.files.async {
        do throws(SystemError) {
          continuation.resume(returning: .success(try SystemFile.bytes(of: path, limit: limit)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    do throws(SystemError) {
      return try result.get()
    } catch {
      throw .signingFailed("\(path) cannot be read: \(error)")
    }
  }
}

extension SignatureAlgorithm {
  /// Vault's name for the hash.
  fileprivate var hashName: String {
    switch self {
    case .ES256, .PS256, .RS256, .EdDSA: "sha2-256"
    case .ES384, .PS384, .RS384: "sha2-384"
    case .ES512, .PS512, .RS512: "sha2-512"
    }
  }
}
