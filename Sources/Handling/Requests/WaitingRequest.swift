// Checks a request again after it has waited, because meanwhile there may have been a stop, a revocation or
// a reload.

import API
package import Callers
import Deciding
import Gate
package import HTTP
import HTTPServer
import Installations
import Platform
import Records
import Serving
import Store

/// The parts of a request that are needed to evaluate it again after a wait.
package struct WaitingRequest: Sendable {
  /// The caller that was authenticated before the wait.
  let caller: Caller
  let request: Request
  fileprivate let peer: IPAddress?
  /// The proof of the caller's key, which the request has already used up; nil if there was none.
  fileprivate let proof: Authenticator.KnownProof?

  package init(_ caller: Caller, _ request: Request, _ circumstances: Authenticator.Circumstances) {
    self.caller = caller
    self.request = request
    peer = circumstances.peer
    proof = circumstances.proof
  }

  /// The request under another configuration.
  fileprivate func client(_ before: ClientRequest, _ generation: Generation) -> ClientRequest {
    ClientRequest(
      generation: generation,
      address: peer.map { generation.clientAddress.resolve(request, peer: $0) } ?? before.address,
      context: before.context, start: before.start, lane: before.lane, mayWait: true, form: before.form,
      round: before.round + 1)
  }
}

extension Handlers {
  /// The maximum number of times that a request is evaluated again. Only a series of reloads could reach
  /// it.
  private static let mostRounds = 3

  /// Whether a permitted request may still get a token after its wait: there was no reload, no stop refuses
  /// it, and the caller's installation, if it is one, is still valid.
  ///
  /// - Parameters:
  ///   - app: The app as the request names it.
  ///   - isLong: Whether the wait may have been longer than an installation's record is cached.
  func isPermitted(
    _ client: ClientRequest, _ waiting: WaitingRequest, app: Request.QueryItem, isLong: Bool = true
  ) async throws(Problem) -> Bool {
    guard generations.current === client.generation else { return false }
    if let installation = waiting.caller.installation?.installation,
      let directory = client.generation.installationService?.directory
    {
      do throws(StoreError) {
        let holds = try await isLong ? directory.holdsNow(installation) : directory.holds(installation)
        guard holds else { return false }
      } catch {
        throw .noInstallations
      }
    }
    // Check again, because the store may have been slow.
    guard generations.current === client.generation else { return false }
    do throws(Decider.Refusal) {
      _ = try client.generation.decider.admit(Applicant(waiting.caller), to: .access, app: app)
      return true
    } catch {
      return false
    }
  }

  /// Evaluates a request from the start, under the current configuration.
  ///
  /// - Parameter renewed: Makes the work for the new evaluation.
  func judgeAgain<Work: RequestWork>(
    _ client: ClientRequest, _ waiting: WaitingRequest, _ responder: Responder,
    _ renewed: (ClientRequest) -> Work
  ) async {
    var work = renewed(waiting.client(client, generations.current))
    guard work.client.round <= Self.mostRounds else {
      return responder.respond(refuse(work.client, work.line, .tooManyWaiting))
    }
    var proof = waiting.proof
    let circumstances = Authenticator.Circumstances(
      address: work.address, time: clock.credentialTime, now: clock.now, proof: proof, peer: waiting.peer,
      admitsRevoked: work.admitsRevoked)
    var next = work.begin(waiting.request, circumstances, at: self)
    if case .first(let prerequisite) = next {
      next = await begin(
        &work, after: prerequisite, waiting.request, peer: waiting.peer, isEarly: false, &proof)
    }
    await conclude(next, of: work, responder)
  }
}
