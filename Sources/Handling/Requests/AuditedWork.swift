// Work that has an audit line.

package import API
package import HTTP
package import Records

/// The work for a request that has an audit line.
package protocol AuditedWork: RequestWork {
  var record: AuditRecord { get set }
}

extension AuditedWork {
  package var line: AuditRecord? { record }
}

extension Handlers {
  /// Writes the audit line of a refusal and makes the answer.
  package func refuse(_ work: borrowing some AuditedWork, _ problem: Problem) -> PreparedResponse {
    refuse(work.client, work.record, problem)
  }
}
