// The protocol for requests that always have an audit line.

package import API
package import HTTP
package import Records

/// The work for a request that always has an audit line.
package protocol AuditedWork: RequestWork {
  var record: AuditRecord { get set }
}

extension AuditedWork {
  package var line: AuditRecord? { record }
}

extension Handlers {
  /// Writes the audit line of a refusal and makes the response.
  package func refuse(_ work: borrowing some AuditedWork, _ problem: Problem) -> PreparedResponse {
    refuse(work.client, work.record, problem)
  }
}
