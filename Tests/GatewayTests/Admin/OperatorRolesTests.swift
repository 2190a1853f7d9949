// Tests of the roles that the endpoints of operators take.

import Gate
import HTTP
import TestSupport
import Testing

@testable import API
@testable import Gateway

@Suite struct OperatorRolesTests {
  /// The operations that take more than `read`.
  private static let higher: [String: Operator.Role] = [
    "/admin/stop": .operate, "/admin/resume": .operate, "/admin/reload": .operate,
    "/admin/installations/find": .approve, "/admin/installations/approve": .approve,
    "/admin/installations/deny": .approve, "/admin/installations/revoke": .approve,
    "/admin/numbers/block": .approve, "/admin/numbers/unblock": .approve,
  ]

  @Test func `operations that only read take the role read, and each of the others its own`() {
    for endpoint in Endpoint.all where endpoint.audience == .operators {
      let path = endpoint.paths[0]
      for role in endpoint.operations.compactMap(\.role) {
        #expect(role == Self.higher[path] ?? .read, "\(path)")
        // What changes something is audited, whoever sends it.
        #expect(role == .read || path.hasSuffix("/find") || !endpoint.actions.isEmpty, "\(path)")
      }
    }
  }
}
