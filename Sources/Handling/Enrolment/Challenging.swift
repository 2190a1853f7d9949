// `POST /attestation/challenge`: returns a challenge for an attestation.

import API
import Callers
import Deciding
import Gate
package import HTTP
package import HTTPServer
import Installations
import JOSE
import Platform
import Records
import Responses
import Serving
import Store
import Texts

/// A request for a challenge. It needs no credential, and has no audit line.
private struct Challenging: RequestWork {
  let client: ClientRequest
  var line: AuditRecord? { nil }
  var needsContent: Bool { false }

  func begin(
    _ request: borrowing Request, _ circumstances: Authenticator.Circumstances, at handlers: Handlers
  ) -> NextStep {
    do throws(Problem) {
      var problems = FieldProblems()
      for name in request.queryMembers.map(\.name) where !name.hasSameBytes(as: "app") {
        problems.add(FieldProblems.shown(name), "The query has only app.")
      }
      try problems.throwIfAny()
      let (app, terms) = try generation.appWithInstallations(named: request.queryItem("app"))
      guard let app else { throw .appNeeded }
      guard terms != nil, let service = generation.installationService else {
        throw Problem(.denied, "This app has no installations.")
      }
      guard mayWait else { throw .tooManyWaiting }
      return .later { [self] responder in
        do throws(Problem) {
          responder.respond(try await handlers.challenge(for: app.id, from: address, service, generation))
        } catch {
          responder.respond(handlers.refuse(client, nil, error))
        }
      }
    } catch {
      return .respond(handlers.refuse(client, nil, error))
    }
  }
}

extension Handlers {
  /// `POST /attestation/challenge`
  package func giveChallenge(_ request: borrowing Request, _ exchange: inout Exchange) {
    perform(Challenging(client: client(request, exchange)), request, &exchange)
  }

  /// Returns a challenge for an app, at most 300 per minute to one address.
  fileprivate func challenge(
    for appID: String, from address: IPAddress, _ service: InstallationService, _ generation: Generation
  ) async throws(Problem) -> Response {
    let now = clock.unixTime
    switch await generation.decider.ledger.take([AddressLimit.challenges.charge(address)], at: Instant(now))
      .outcome
    {
    case .taken: break
    case .refused(_, let states):
      let denial = AddressLimit.challenges.denial(states, at: Instant(now))
      throw Problem(
        .rateLimited, "Too many challenges were requested from this address.",
        tryAgainAfter: denial.retryAfter.map { Int(clamping: $0) })
    case .unavailable: throw Problem(StoreError(.unavailable, "challenge", "no store"))
    }
    do throws(OpenSSLError) {
      return InstallationDocument.challenge(
        try service.codes.challenges.make(for: appID, at: now.seconds), expiresIn: Challenges.lifetime)
    } catch {
      throw Problem(.internal, "The server could not generate a challenge. Try again.")
    }
  }
}
