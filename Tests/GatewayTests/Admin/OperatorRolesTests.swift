// Tests of the roles that operators need for each endpoint.

import Gate
import HTTP
import TestSupport
import Testing

@testable import API
@testable import Gateway

@Suite struct OperatorRolesTests {
  /// The role that each operation requires. A new operation fails here until somebody decides its role.
  private static let roles: [String: Operator.Role?] = [
    // The page holds no data.
    "GET /admin/": nil,
    "GET /metrics": .read, "GET /admin/status": .read, "GET /admin/decisions": .read,
    "GET /admin/callbacks": .read,
    "POST /admin/explain": .read, "GET /admin/installations": .read, "GET /admin/numbers": .read,
    "POST /admin/installations/find": .approve, "POST /admin/installations/approve": .approve,
    "POST /admin/installations/deny": .approve, "POST /admin/installations/revoke": .approve,
    "POST /admin/numbers/block": .approve, "POST /admin/numbers/unblock": .approve,
    "POST /admin/stop": .operate, "POST /admin/resume": .operate, "POST /admin/reload": .operate,
  ]

  @Test func `each operation of operators takes its role`() {
    var found: [String: Operator.Role?] = [:]
    for endpoint in Endpoint.all
    where endpoint.audience == .operators || endpoint.paths.contains(where: { $0.hasPrefix("/admin") }) {
      #expect(endpoint.audience == .operators)
      for operation in endpoint.operations {
        for path in endpoint.paths { found["\(operation.method.rawValue) \(path)"] = .some(operation.role) }
      }
    }
    #expect(found == Self.roles)
  }

  @Test func `what changes something has an audit line of its own action`() {
    let changes = Endpoint.all.filter { $0.operations.contains { ($0.role ?? .read) > .read } }
    let actions = changes.filter { !$0.paths[0].hasSuffix("/find") }.map(\.actions)
    #expect(
      Set(actions) == [
        [.approve], [.deny], [.revoke], [.block], [.unblock], [.stop], [.resume], [.reload],
      ])
  }
}
