// The table of installations.

import Gate
import JOSE

/// The columns of an installation. `caller` and `subject` identify the user who authorized it.
package enum InstallationColumn: Int, TableColumn {
  case id, clientApp, clientDetail, app, caller, subject, address, secret, generation, created, used, revoked
  case lastStep, counter, failures, locked
  case operatorDeliveries
  case attestedKey
  /// The thumbprint of the phone's key (RFC 7638).
  case jkt
  case unconfirmed
  /// The operator who approved the installation, and how the operator was authenticated.
  case `operator`, operatorBy

  package static let table = Table<InstallationColumn>("callgate_installation")

  package var column: ColumnDescription<Installation> {
    switch self {
    case .id: .id(.never) { $0.client.id.id }
    case .clientApp: .text(.changes) { $0.client.app }
    case .clientDetail: .text(.changes) { $0.client.detail }
    case .app: .text(.changes) { $0.appID }
    case .caller: .text(.changes) { $0.user?.callerID }
    case .subject: .text(.changes) { $0.user?.subject }
    case .address: .text(.changes) { $0.address }
    case .secret: .bytes(.changes) { $0.secret.bytes }
    case .generation: .integer(.changes) { $0.generation }
    case .created: .time(.changes) { $0.createdAt }
    case .used: .time(.grows) { $0.usedAt }
    case .revoked: .time(.changes) { $0.revokedAt }
    case .lastStep: .integer(.changes) { $0.codes.lastStep }
    case .counter: .integer(.changes) { $0.codes.counter }
    case .failures: .integer(.changes) { $0.codes.failures }
    case .locked: .time(.changes) { $0.codes.lockedUntil }
    case .operatorDeliveries: .integer(.changes) { $0.operatorDeliveries }
    case .attestedKey: .bytes(.changes) { $0.attestedKey?.bytes }
    case .jkt: .bytes(.changes) { $0.key?.bytes }
    case .unconfirmed: .time(.changes) { $0.unconfirmedUntil }
    case .operator: .text(.changes) { $0.by?.name }
    case .operatorBy: .text(.changes) { $0.by?.by.rawValue }
    }
  }
}

extension Installation: TableEntry {
  package init(_ row: TableRow<InstallationColumn>) throws(UnreadableValue) {
    var user: InstallationUser?
    if let callerID = try row.optionalText(.caller), let subject = try row.optionalText(.subject) {
      user = InstallationUser(callerID: callerID, subject: subject)
    }
    self.init(
      client: InstallationClient(
        id: InstallationID(try row.id(.id)), app: try row.text(.clientApp),
        detail: try row.optionalText(.clientDetail)),
      appID: try row.text(.app), user: user, address: try row.text(.address), secret: try row.digest(.secret),
      generation: try row.integer(.generation), createdAt: try row.time(.created),
      usedAt: try row.time(.used), revokedAt: try row.optionalTime(.revoked),
      unconfirmedUntil: try row.optionalTime(.unconfirmed),
      codes: CodeState(
        lastStep: try row.integer(.lastStep), counter: max(0, try row.integer(.counter)),
        failures: try row.count(.failures), lockedUntil: try row.optionalTime(.locked)),
      operatorDeliveries: try row.count(.operatorDeliveries, absent: 1),
      attestedKey: try row.optionalDigest(.attestedKey), key: try row.optionalDigest(.jkt),
      by: Operator.Identity(name: try row.optionalText(.operator), by: try row.optionalText(.operatorBy)))
  }
}
