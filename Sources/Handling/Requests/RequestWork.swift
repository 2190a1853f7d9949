// Runs a request that needs a caller: at once, later, or after a wait for keys, an installation or the use
// of a proof.

import API
package import Callers
import Delivery
package import HTTP
package import HTTPServer
import Installations
import Platform
package import Records
import Serving
import Store
import Trust

/// The work for one request at an endpoint that needs a caller.
package protocol RequestWork: ForClient {
  /// The audit line; nil if the request has none.
  var line: AuditRecord? { get }
  /// Whether the work reads the request's content.
  var needsContent: Bool { get }
  /// Whether an installation that was revoked a short while ago still counts as a caller.
  var admitsRevoked: Bool { get }
  /// Authenticates the request and does everything that needs no wait, at the times in `circumstances`. If
  /// the caller cannot be known without a wait, it must leave the work unchanged.
  ///
  /// In early circumstances it must not read the content, and may only refuse the request. If the head is no
  /// reason to refuse, it changes nothing and returns `content` or `later`.
  mutating func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep
}

extension RequestWork {
  package var admitsRevoked: Bool { false }
}

/// The next step for a request.
package enum NextStep {
  case respond(PreparedResponse)
  /// The work has to wait for something, and responds itself.
  case later(@Sendable (Responder) async -> Void)
  /// A prerequisite to wait for before the caller is known, such as an issuer's keys.
  case first(Authenticator.Prerequisite)
  /// The head gives no reason to refuse. The content has not arrived yet.
  case content
}

extension NextStep {
  /// `later` for work that consumes a value.
  package static func later<Value: ~Copyable & Sendable>(
    consuming value: consuming Value,
    _ rest: @escaping @Sendable (consuming Value, Responder) async -> Void
  ) -> NextStep {
    let once = Once(value)
    return .later { await rest(once.take(), $0) }
  }
}

extension Handlers {
  /// Performs a request's work. If the caller is not known at once, the server waits for keys or for the
  /// store. Then the work begins again with the new time, because a token may have expired or opening hours
  /// may have ended during the wait.
  package func perform(
    _ work: consuming some RequestWork, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    let known = exchange.finding.flatMap { $0 as? Authenticator.KnownProof }
    let circumstances = Authenticator.Circumstances(
      address: work.address, time: clock.credentialTime, now: exchange.now, proof: known,
      peer: exchange.peer.address, isEarly: exchange.isEarly, admitsRevoked: work.admitsRevoked)
    switch work.begin(request, circumstances, at: self) {
    case .respond(let response): exchange.respond(response)
    // The server reads the content.
    case .content: break
    case .later where exchange.isEarly: break
    case .first(let prerequisite) where exchange.isEarly: judge(work, prerequisite, request, &exchange)
    case .later(let rest):
      let responder = exchange.deferred()
      work.context.task(answering: responder) { await rest(responder) }
    case .first(let prerequisite):
      let bytes = work.needsContent ? request.content.count : 0
      guard exchange.mayDefer, callbacks.inHand.hold(bytes) else {
        return exchange.respond(refuse(work.client, work.line, .tooManyWaiting))
      }
      let peer = exchange.peer.address
      let responder = exchange.deferred()
      let request = work.needsContent ? copy request : request.withoutContent()
      work.context.task(answering: responder) { [self, work] in
        var work = work
        var proof = known
        let next = await begin(&work, after: prerequisite, request, peer: peer, isEarly: false, &proof)
        callbacks.inHand.release(bytes: bytes)
        await conclude(next, of: work, responder)
      }
    }
  }

  /// Performs the next step of a complete request after its waits.
  func conclude(_ next: NextStep, of work: some RequestWork, _ responder: Responder) async {
    switch next {
    case .respond(let response): responder.respond(response)
    case .later(let rest): await rest(responder)
    case .first:
      guard Task.isCancelled else { preconditionFailure("a request that waits again for its caller") }
      responder.respond(refuse(work.client, work.line, .clientLeft))
    case .content: preconditionFailure("a whole request that waits for its content")
    }
  }

  /// Waits for the prerequisite of a head. Then the request is refused, or its content is read.
  private func judge(
    _ work: consuming some RequestWork, _ prerequisite: Authenticator.Prerequisite,
    _ request: borrowing Request,
    _ exchange: inout Exchange
  ) {
    // Only the complete request uses up the proof.
    if case .proof(let verified) = prerequisite {
      exchange.finding = Authenticator.KnownProof(verified, nil)
      return
    }
    guard exchange.mayDefer else {
      return exchange.respond(refuse(work.client, work.line, .tooManyWaiting))
    }
    let peer = exchange.peer.address
    let responder = exchange.deferred()
    let request = request.withoutContent()
    work.context.task(answering: responder) { [self, work] in
      var work = work
      var proof: Authenticator.KnownProof?
      switch await begin(&work, after: prerequisite, request, peer: peer, isEarly: true, &proof) {
      case .respond(let response): responder.respond(response)
      case .first(.proof(let verified)):
        responder.proceed(proof ?? Authenticator.KnownProof(verified, nil))
      case .content, .first, .later: responder.proceed(proof)
      }
    }
  }

  /// Waits for a request's prerequisites one after the other, and begins its work again after each.
  ///
  /// - Parameters:
  ///   - isEarly: Whether the content has not arrived yet. Then no proof is used up.
  ///   - proof: Receives the proof that was verified meanwhile.
  func begin(
    _ work: inout some RequestWork, after prerequisite: Authenticator.Prerequisite, _ request: Request,
    peer: IPAddress?, isEarly: Bool, _ proof: inout Authenticator.KnownProof?
  ) async -> NextStep {
    var next = NextStep.first(prerequisite)
    var hasFetchedAppCheckKeys = false
    var prepared: Authenticator.Prepared?
    // At most four waits: for the caller, for the single use of its proof, for the App Check keys, and for
    // the caller again, which may have been revoked meanwhile.
    for _ in 1...4 {
      guard case .first(let prerequisite) = next else { break }
      switch prerequisite {
      case .appCheckKeys(let source):
        await source.fetchForUnknownKey()
        hasFetchedAppCheckKeys = true
        prepared = nil
      case .proof where isEarly: return next
      case .proof(let verified):
        let spending = await generations.current.spend(verified, at: clock.unixTime)
        proof = .init(verified, spending, holder: proof?.holder)
      case .keyholder(let verified, _, _):
        let looked = await prepare(prerequisite, from: work.address)
        proof = .init(verified, proof?.spending, holder: looked.holder)
        prepared = looked
      case .keys, .installation:
        prepared = await prepare(prerequisite, from: work.address)
      }
      if Task.isCancelled { break }
      let circumstances = Authenticator.Circumstances(
        address: work.address, time: clock.credentialTime, now: clock.now, prepared: prepared,
        hasFetchedAppCheckKeys: hasFetchedAppCheckKeys, proof: proof, peer: peer, isEarly: isEarly,
        admitsRevoked: work.admitsRevoked)
      next = work.begin(request, circumstances, at: self)
    }
    return next
  }

  /// Waits for a prerequisite of authentication.
  private func prepare(
    _ prerequisite: Authenticator.Prerequisite, from address: IPAddress
  ) async -> Authenticator.Prepared {
    switch prerequisite {
    case .keys(let source), .appCheckKeys(let source):
      await source.fetchForUnknownKey()
      return .keys
    case .installation(let id, let directory, let isGuarded):
      return await look(directory, isGuarded: isGuarded, from: address) { () async throws(StoreError) in
        try await directory.look(id)
      }
    case .keyholder(let proof, let directory, let isGuarded):
      return await look(directory, isGuarded: isGuarded, from: address) { () async throws(StoreError) in
        try await directory.look(key: proof.key)
      }
    case .proof: preconditionFailure("the one use of a proof prepares no caller")
    }
  }

  private func look(
    _ directory: InstallationDirectory, isGuarded: Bool, from address: IPAddress,
    _ body: () async throws(StoreError) -> KnownInstallation?
  ) async -> Authenticator.Prepared {
    if isGuarded {
      guard await directory.waitForGuardedTurn(address, deadline: clock.now + .seconds(5)) else {
        return .noTurn
      }
    }
    do throws(StoreError) {
      return .installation(try await body())
    } catch {
      return .storeFailed(error)
    }
  }
}

extension Authenticator.Prepared {
  /// The ID of the installation that was found; nil if none was.
  fileprivate var holder: InstallationID? {
    if case .installation(let found) = self { found?.installation.client.id } else { nil }
  }
}
