// The database table of the last login of each caller from each address.

import Gate

/// The columns of a login. A row is found by the digest of caller and address.
package enum LoginColumn: Int, TableColumn {
  case id, caller, credential, last

  package static let table = Table<LoginColumn>("callgate_login")

  package var column: ColumnDescription<StoredLogin> {
    switch self {
    case .id: .id(.never) { $0.id }
    case .caller: .text(.never) { $0.caller }
    case .credential: .integer(.changes) { Int64($0.credential) }
    case .last: .time(.changes) { $0.last }
    }
  }
}

extension StoredLogin: TableEntry {
  package init(_ row: TableRow<LoginColumn>) throws(UnreadableValue) {
    guard let credential = UInt16(exactly: try row.integer(.credential)) else {
      throw UnreadableValue(column: LoginColumn.credential.rawValue)
    }
    self.init(
      id: try row.id(.id), caller: try row.text(.caller), credential: credential, last: try row.time(.last))
  }
}
