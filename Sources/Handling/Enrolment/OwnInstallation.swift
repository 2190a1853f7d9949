// Answers requests about installations: `DELETE /installations/self` revokes one, and `POST /codes/verify` verifies a code.

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
  /// `DELETE /installations/self`: a phone revokes its own installation. For an hour it may repeat that, in case an answer was lost.
  package func revokeSelf(_ request: borrowing Request, _ exchange: inout Exchange) {
    visit(request, &exchange, as: .revoke, admitsRevoked: true) { [audit] visit, line throws(Problem) in
      guard let installation = visit.caller.installation?.installation,
        let service = visit.generation.installationService
      else {
        throw Problem(.denied, "Only an installation can revoke itself.")
      }
      do throws(InstallationService.Failure) {
        let found = line
        line?.cancelled = try await service.revoke(installation.client.id, only: installation.identity) {
          // A line of its own, since the request has one with the error.
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

  /// `POST /codes/verify`: whether a code is an installation's, now.
  package func verifyCode(_ request: borrowing Request, _ exchange: inout Exchange) {
    // A contact center's agent has no app.
    visit(
      request, &exchange, as: .verify, isAttested: false,
      checking: Self.checkJSON(atMost: MemberReader.mostBytes)
    ) { visit, record throws(Problem) in
      let terms = visit.generation.installations?.terms ?? [:]
      guard let service = visit.generation.installationService,
        terms.values.contains(where: { $0.verifiers.contains(exactly: visit.caller.id) })
      else { throw Problem(.denied, "This caller may not verify codes.") }
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
