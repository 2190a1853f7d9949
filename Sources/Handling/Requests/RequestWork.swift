// Runs a request that needs a caller: at once, later, or after the issuer's keys were fetched.

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
  /// Its audit line; nil where it has none.
  var line: AuditRecord? { get }
  /// Whether the work looks at the request's content.
  var needsContent: Bool { get }
  /// Authenticates the request and does everything that needs no waiting, by the given clocks.
  /// If something has to be waited for before the caller is known, it must leave the work unchanged.
  mutating func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep
}

/// The next step for a request.
package enum NextStep {
  case respond(PreparedResponse)
  /// The work has to wait for something, and responds itself.
  case later(@Sendable (Responder) async -> Void)
  /// Something has to be waited for before the caller is known.
  case first(Authenticator.Prerequisite)
}

extension NextStep {
  /// The same for work that consumes a value.
  package static func later<Value: ~Copyable & Sendable>(
    consuming value: consuming Value,
    _ rest: @escaping @Sendable (consuming Value, Responder) async -> Void
  ) -> NextStep {
    let once = Once(value)
    return .later { await rest(once.take(), $0) }
  }
}

extension Handlers {
  /// Does a request's work. If the caller is not known at once, it waits for an issuer's keys or for the store. Then the work begins
  /// again with the new time: a token, a rate or an opening may have ended during the wait.
  package func perform(
    _ work: consuming some RequestWork, _ request: borrowing Request, _ exchange: inout Exchange
  ) {
    let circumstances = Authenticator.Circumstances(
      address: work.address, time: clock.credentialTime, now: exchange.now, peer: exchange.peer.address)
    switch work.begin(request, circumstances, at: self) {
    case .respond(let response): exchange.respond(response)
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
        var next = NextStep.first(prerequisite)
        var hasFetchedAppCheckKeys = false
        var prepared: Authenticator.Prepared?
        var proof: Authenticator.KnownProof?
        // For the caller; for the one use of its proof; for the keys of App Check, which a known caller's token needs; then for the
        // caller again, who may have been revoked meanwhile.
        for _ in 1...4 {
          guard case .first(let prerequisite) = next else { break }
          switch prerequisite {
          case .appCheckKeys(let source):
            await source.fetchForUnknownKey()
            hasFetchedAppCheckKeys = true
            prepared = nil
          case .proof(let verified):
            proof = .init(verified, await generations.current.spend(verified, at: clock.unixTime))
          case .keyholder(let verified, _, _):
            proof = .init(verified, proof?.spending)
            prepared = await prepare(prerequisite, from: work.address)
          case .keys, .installation:
            prepared = await prepare(prerequisite, from: work.address)
          }
          if Task.isCancelled { break }
          let circumstances = Authenticator.Circumstances(
            address: work.address, time: clock.credentialTime, now: clock.now, prepared: prepared,
            hasFetchedAppCheckKeys: hasFetchedAppCheckKeys, proof: proof, peer: peer)
          next = work.begin(request, circumstances, at: self)
        }
        callbacks.inHand.release(bytes: bytes)
        switch next {
        case .respond(let response): responder.respond(response)
        case .later(let rest): await rest(responder)
        case .first:
          guard Task.isCancelled else { preconditionFailure("a request that waits again for its caller") }
          responder.respond(refuse(work.client, work.line, .clientLeft))
        }
      }
    }
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
