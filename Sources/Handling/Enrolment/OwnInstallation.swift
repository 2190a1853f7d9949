// Answers requests about installations: `DELETE /installations/self` revokes one, and `POST /codes/verify`
// verifies a code.

import API
import Callers
import Deciding
package import HTTP
package import HTTPServer
import Installations
import Records
import Responses
import Serving
import Store
import Texts

extension Handlers {
  /// `DELETE /installations/self`: an installation revokes itself. It may repeat the request for an hour,
  /// because the response may have been lost.
  package func revokeSelf(_ request: borrowing Request, _ exchange: inout Exchange) {
    let check: HeadCheck = { _, caller, generation, _ throws(Problem) in
      _ = try generation.installed(caller)
    }
    visit(request, &exchange, as: .revoke, admitsRevoked: true, checking: check) {
      [audit] visit, line throws(Problem) in
      let (installation, service) = try visit.generation.installed(visit.caller)
      do throws(InstallationService.Failure) {
        let found = line
        line?.cancelled = try await service.revoke(installation.client.id, only: installation.identity) {
          // If the revocation is confirmed only later, it gets its own audit line: the request's line has the
          // error.
          guard var found else { return }
          found.cancelled = $0.cancelled
          audit.append(found, since: visit.start, lane: visit.lane)
        }.cancelled
      } catch {
        throw Problem(error)
      }
      return Response(status: .noContent, fields: ["Cache-Control": "no-store"])
    }
  }

  /// `POST /codes/verify`: reports whether a code is valid for an installation now.
  package func verifyCode(_ request: borrowing Request, _ exchange: inout Exchange) {
    // The caller is the contact center, so no App Check applies: its agents use no app.
    let check: HeadCheck = { request, caller, generation, line throws(Problem) in
      try Self.checkJSON(atMost: MemberReader.mostBytes)(request, caller, generation, &line)
      _ = try generation.verification(by: caller)
    }
    visit(request, &exchange, as: .verify, isAttested: false, checking: check) {
      visit, record throws(Problem) in
      let (service, terms) = try visit.generation.verification(by: visit.caller)
      let asked = try VerifyCodeRequest(parsing: visit.request.content)
      record?.installation = asked.id.description
      do throws(InstallationService.Failure) {
        let isValid = try await service.verify(asked.code, of: asked.id, by: visit.caller.id) { terms[$0] }
        if !isValid { record?.reason = "the code is not valid" }
        return InstallationDocument.verified(isValid)
      } catch {
        throw Problem(error)
      }
    }
  }
}

extension Generation {
  /// The calling installation, and the service of installations. Throws for other callers.
  fileprivate func installed(
    _ caller: Caller
  ) throws(Problem) -> (Installation, InstallationService) {
    guard let installation = caller.installation?.installation, let service = installationService else {
      throw Problem(.denied, "Only an installation can revoke itself.")
    }
    return (installation, service)
  }

  /// The service that verifies codes, and the apps' terms. Throws if the caller may not verify codes.
  fileprivate func verification(
    by caller: Caller
  ) throws(Problem) -> (InstallationService, terms: [String: InstallationTerms]) {
    let terms = installations?.terms ?? [:]
    guard let service = installationService,
      terms.values.contains(where: { $0.verifiers.contains(exactly: caller.id) })
    else { throw Problem(.denied, "This caller may not verify codes.") }
    return (service, terms)
  }
}
