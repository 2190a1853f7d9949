// The table of requests for installations.

import Gate
import JOSE

/// The columns of a request. A row is found by the digest of the request's id.
package enum EnrolmentColumn: Int, TableColumn {
  case id, installation, clientApp, clientDetail, app, code, address, created, expires, forgotten, answered,
    state, attestedKey
  /// The thumbprint of the phone's key (RFC 7638).
  case jkt
  /// The operator who approved or denied the request, and how the operator was authenticated.
  case `operator`, operatorBy

  package static let table = Table<EnrolmentColumn>("callgate_enrolment")

  package var column: ColumnDescription<Enrolment> {
    switch self {
    case .id: .bytes(.never) { $0.request.bytes }
    case .installation: .id(.never) { $0.client.id.id }
    case .clientApp: .text(.never) { $0.client.app }
    case .clientDetail: .text(.never) { $0.client.detail }
    case .app: .text(.never) { $0.appID }
    case .code: .text(.never) { $0.userCode }
    case .address: .text(.never) { $0.address }
    case .created: .time(.never) { $0.createdAt }
    case .expires: .time(.never) { $0.expiresAt }
    case .forgotten: .time(.never) { $0.forgottenAt }
    case .answered: .time(.changes) { $0.answeredAt }
    case .state: .text(.changes) { $0.state.rawValue }
    case .attestedKey: .bytes(.never) { $0.attestedKey?.bytes }
    case .jkt: .bytes(.never) { $0.key?.bytes }
    case .operator: .text(.changes) { $0.by?.name }
    case .operatorBy: .text(.changes) { $0.by?.by.rawValue }
    }
  }
}

extension Enrolment: TableEntry {
  package init(_ row: TableRow<EnrolmentColumn>) throws(UnreadableValue) {
    self.init(
      request: try row.digest(.id),
      client: InstallationClient(
        id: InstallationID(try row.id(.installation)), app: try row.text(.clientApp),
        detail: try row.optionalText(.clientDetail)),
      appID: try row.text(.app), userCode: try row.text(.code), address: try row.text(.address),
      createdAt: try row.time(.created), expiresAt: try row.time(.expires),
      forgottenAt: try row.time(.forgotten), answeredAt: try row.time(.answered),
      state: try row.word(.state), attestedKey: try row.optionalDigest(.attestedKey),
      key: try row.optionalDigest(.jkt),
      by: Operator.Identity(name: try row.optionalText(.operator), by: try row.optionalText(.operatorBy)))
  }
}
