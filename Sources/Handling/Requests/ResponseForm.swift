// How another interface over the same handlers has its problems written, and what audit lines call it.

package import API
package import HTTP
package import HTTPServer
package import Records

/// The form of an interface's problems. Its requests take the steps of this server's own.
package struct ResponseForm: Sendable {
  /// The interface in audit lines.
  package let via: AuditRecord.Via
  /// A problem as the clients of the interface read it.
  package let problem: @Sendable (Problem, RequestID) -> Response

  package init(via: AuditRecord.Via, problem: @escaping @Sendable (Problem, RequestID) -> Response) {
    self.via = via
    self.problem = problem
  }
}
