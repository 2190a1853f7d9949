// Requests access tokens from Talkdesk ID, trying each configured credential in turn.

public import HTTP
import JOSE
public import Platform
public import Tokens

/// A client of Talkdesk ID, the authorization server. It exchanges a client credential for an access token
/// (RFC 6749 §4.4).
public struct TalkdeskID: TokenIssuer {
  /// The maximum size of a response, in bytes. A token has about 0.6 kB.
  static let longestReply = 64 * 1024
  /// The minimum time that must be left before the deadline for a retry. With less, the retry could only time
  /// out.
  static let shortestAttempt = Duration.milliseconds(250)

  /// The account's URLs, with the token endpoint and the audience of assertions.
  public let endpoints: TalkdeskEndpoints
  /// The credentials in the order in which they are tried: the next key before the current one.
  public let credentials: [ClientCredential]
  /// Which failures are retried within one exchange, and when.
  public let retry: RetryPolicy
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let rotation: CredentialRotation
  private let jitter: @Sendable () -> Double

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - endpoints: the account's endpoints.
  ///   - credentials: the credentials in the order to try them. A later one is tried if the earlier ones are
  ///     refused as invalid or their signers fail. Without any, every exchange fails.
  ///   - transport: carries the requests.
  ///   - time: the clocks.
  ///   - retry: the retries within one exchange.
  ///   - jitter: random numbers in 0..<1.
  public init(
    endpoints: TalkdeskEndpoints, credentials: [ClientCredential], transport: any HTTPTransport,
    time: any TimeSource, retry: RetryPolicy = RetryPolicy(),
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    self.endpoints = endpoints
    self.credentials = credentials
    self.transport = transport
    self.time = time
    self.retry = retry
    self.jitter = jitter
    rotation = CredentialRotation(count: credentials.count)
  }

  /// The state of each credential, in the order of `credentials`.
  public var credentialStatus: [CredentialStatus] {
    credentials.indices.map { status(of: $0) }
  }

  /// Ends the time for which credentials are set aside: the next exchange tries them in the configured order.
  public func tryAllAgain() { rotation.endRests() }

  /// Copies the states of credentials that the replaced issuer also had at the same endpoint. After a reload,
  /// operators still see which key is in use. Credentials that were set aside are tried again.
  public func inherit(from other: any TokenIssuer) {
    guard let other = other as? TalkdeskID, endpoints.tokenURL == other.endpoints.tokenURL else { return }
    let places = credentials.map { mine in other.credentials.firstIndex { $0.isSame(as: mine) } }
    rotation.inherit(from: other.rotation, places: places)
  }

  /// Whether a token comes from the same endpoint, for a client that is still configured.
  public func keeps(_ token: AccessToken, of other: any TokenIssuer) -> Bool {
    guard let other = other as? TalkdeskID, endpoints.tokenURL == other.endpoints.tokenURL else {
      return false
    }
    return credentials.contains { $0.clientID == token.clientID }
  }

  /// Gets a token before the deadline. Tries the credentials in turn: if Talkdesk ID refuses one as invalid,
  /// or its signer fails, the next one is used. Retries after temporary failures. A credential that was
  /// refused while another was accepted is tried last for a while.
  ///
  /// - Parameters:
  ///   - scope: the requested scope, words separated by spaces; empty requests the client's whole scope.
  ///   - deadline: when the whole exchange must have ended.
  ///   - trace: the exchange's trace, if any. Each request is a span in it.
  ///   - observe: called with a report of each request, also of one that could not be signed or sent.
  ///   - change: called with each credential that Talkdesk ID now accepts or refuses and did not before.
  public func exchange(
    scope: String, deadline: MonotonicTime, trace: TraceContext?,
    observe: @Sendable (TokenRequestReport) -> Void, change: @Sendable (CredentialStatus) -> Void
  ) async throws(TokenExchangeError) -> AccessToken {
    guard !credentials.isEmpty else { throw .refused(status: 401, code: nil) }
    let start = time.now
    let order = rotation.order(now: start)
    var refusals: [(place: Int, isExplicit: Bool)] = []
    var repetitions = 0
    var attempt = 1
    // The number of credentials whose signers failed. The next credential may need no signer.
    var unsigned = 0
    while true {
      let place = order[refusals.count + unsigned]
      do {
        let token = try await request(
          scope: scope, place: place, attempt: attempt, deadline: deadline, trace: trace?.child(),
          observe: observe)
        let changed = rotation.accepted(
          place, insteadOf: refusals.map(\.place), startedAt: start, now: time.now, unit: jitter())
        for place in changed { change(status(of: place)) }
        return token
      } catch {
        attempt += 1
        if error.speaksAgainstTheCredential {
          refusals.append((place, error.isInvalidClient))
          if refusals.count + unsigned < order.count { continue }
        } else if error.isOfSigner, refusals.count + unsigned + 1 < order.count {
          unsigned += 1
          continue
        }
        let resumption = time.now + retry.delay(before: repetitions + 1, unit: jitter())
        guard repetitions < retry.limit, retry.isPassing(error), resumption + Self.shortestAttempt < deadline
        else {
          // No credential was accepted, so there is nothing to compare with, and only an explicit error code
          // counts.
          for (place, isExplicit) in refusals where isExplicit && rotation.refused(place, now: time.now) {
            change(status(of: place))
          }
          throw error
        }
        repetitions += 1
        do {
          try await time.sleep(until: resumption)
        } catch {
          throw .transport(TransportError(.cancelled, sent: false, detail: "cancelled between attempts"))
        }
      }
    }
  }

  /// The role of a credential: the last one is the current one, and those before it are the next ones.
  private func role(of place: Int) -> CredentialRole { place == credentials.count - 1 ? .current : .next }

  private func status(of place: Int) -> CredentialStatus {
    rotation.status(
      of: place, name: credentials[place].name, clientID: credentials[place].clientID, role: role(of: place),
      now: time.now)
  }

  /// Sends one request and reports it.
  private func request(
    scope: String, place: Int, attempt: Int, deadline: MonotonicTime, trace: TraceContext?,
    observe: @Sendable (TokenRequestReport) -> Void
  ) async throws(TokenExchangeError) -> AccessToken {
    let start = time.now
    guard start < deadline else { throw .timedOut(sent: false) }
    let credential = credentials[place]
    var report = TokenRequestReport(
      scope: scope, credential: credential.name, role: role(of: place), attempt: attempt, startedAt: start,
      duration: .zero, outcome: .failure(.timedOut(sent: false)), trace: trace)
    do {
      let message = try await message(
        scope: scope, credential: credential, trace: trace, deadline: deadline)
      let reply = try await send(message)
      let now = time.unixTime
      report.status = reply.status
      report.platformTID = UpstreamText.traceID(reply.fields["platform-tid"])
      report.clockSkew = reply.fields["Date"].flatMap(HTTPDate.unixSeconds)
        .map { .seconds($0.subtractingClamped(now.seconds)) }
      if reply.status >= 400 { report.errorDescription = TokenReply.refusal(reply.content).description }
      let token = try Self.token(
        in: reply, scope: scope, clientID: credential.clientID, sent: start, now: now)
      report.duration = time.now - start
      report.outcome = .success(.init(sha256: token.sha256, scope: token.scope, lifetime: token.lifetime))
      observe(report)
      return token
    } catch {
      report.duration = time.now - start
      report.outcome = .failure(error)
      observe(report)
      throw error
    }
  }

  private func send(_ message: OutboundRequest) async throws(TokenExchangeError) -> InboundResponse {
    do {
      return try await transport.send(message)
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

  /// The request (RFC 6749 §4.4.2, RFC 7523 §2.2). Parameters are in the content only, because proxies log
  /// URLs.
  private func message(
    scope: String, credential: ClientCredential, trace: TraceContext?, deadline: MonotonicTime
  ) async throws(TokenExchangeError) -> OutboundRequest {
    var fields: Fields = [
      "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded",
    ]
    if let trace { fields["traceparent"] = trace.traceparent }
    var form = FormContent()
    form.append("grant_type", "client_credentials")
    // Without `scope`, Talkdesk ID grants every scope that the client has.
    if !scope.isEmpty { form.append("scope", scope) }
    switch credential {
    case .signedJWT(let clientID, let keyID, let signer):
      form.append(assertion: try assertion(clientID: clientID, keyID: keyID, signer: signer), of: clientID)
    case .transit(let clientID, let keyID, let signer):
      let input = ClientAssertion.input(
        clientID: clientID, keyID: keyID, algorithm: signer.algorithm, audience: endpoints.audience,
        now: time.unixTime)
      do throws(TokenExchangeError) {
        let signature = try await signer.sign(input, deadline: deadline)
        form.append(assertion: JWS.token(input, signature: signature), of: clientID)
      } catch {
        throw .signer(error)
      }
    case .secret(let clientID, let secret):
      fields["Authorization"] = BasicAuthentication.value(clientID: clientID, secret: secret)
    }
    return OutboundRequest(
      method: .post, url: endpoints.tokenURL, fields: fields, content: form.bytes,
      timeout: deadline - time.now,
      maximumContentLength: Self.longestReply)
  }

  private func assertion(
    clientID: String, keyID: String, signer: Signer
  ) throws(TokenExchangeError) -> String {
    do {
      return try ClientAssertion.make(
        clientID: clientID, keyID: keyID, signer: signer, audience: endpoints.audience,
        now: time.unixTime)
    } catch {
      throw .signingFailed("\(error)")
    }
  }

  /// The access token of a reply. The status alone decides between success and the kinds of failure.
  private static func token(
    in reply: InboundResponse, scope: String, clientID: String, sent: MonotonicTime, now: UnixTime
  ) throws(TokenExchangeError) -> AccessToken {
    switch reply.status {
    case 200..<300:
      if let coding = reply.contentCoding { throw .unusableReply(.compressed(coding)) }
      do {
        let parts = try TokenReply(parsing: reply.content, requestedScope: scope)
        return AccessToken(
          token: parts.token, scope: parts.scope, statesScope: parts.statesScope, clientID: clientID,
          obtainedAt: sent, lifetime: parts.lifetime)
      } catch {
        throw .unusableReply(error)
      }
    case 400, 401, 403:
      throw .refused(status: reply.status, code: TokenReply.refusal(reply.content).code)
    case 429:
      throw .rateLimited(retryAfter: RetryAfter.read(reply.fields, now: now.seconds))
    case 408, 500...599:
      throw .unavailable(status: reply.status, retryAfter: RetryAfter.read(reply.fields, now: now.seconds))
    default:
      throw .unusableReply(.status(reply.status))
    }
  }
}

extension FormContent {
  /// Appends a client's assertion (RFC 7523 §2.2).
  fileprivate mutating func append(assertion: String, of clientID: String) {
    append("client_id", clientID)
    append("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    append("client_assertion", assertion)
  }
}
