// The form of problems in another API (GMS, MCP), and that API's name in audit lines.

package import API
package import HTTP
package import HTTPServer
package import Records

/// The form of problems in another API. Its requests take the same steps as requests of this server's own
/// API.
package struct ResponseForm: Sendable {
  /// The API's name in audit lines.
  package let via: AuditRecord.Via
  /// Writes a problem for the API's clients.
  package let problem: @Sendable (Problem, RequestID) -> Response

  package init(via: AuditRecord.Via, problem: @escaping @Sendable (Problem, RequestID) -> Response) {
    self.via = via
    self.problem = problem
  }
}
