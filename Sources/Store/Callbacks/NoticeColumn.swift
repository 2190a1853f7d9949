// The table of notifications that an instance has begun to send, by the digest of their ids.

import Gate
import JOSE

/// The columns of a notification. A row is found by the digest of the notification's id, and never changes.
package enum NoticeColumn: Int, TableColumn {
  case id, callback, installation, action, serial, created, generation

  package static let table = Table<NoticeColumn>("callgate_notice")

  package var column: ColumnDescription<StoredNotice> {
    switch self {
    case .id: .bytes(.never) { $0.id.bytes }
    case .callback: .id(.never) { $0.callback?.id ?? StoredNotice.noCallback }
    case .installation: .id(.never) { $0.installation.id.id }
    case .action: .text(.never) { $0.action.rawValue }
    case .serial: .integer(.never) { Int64($0.serial) }
    case .created: .time(.never) { $0.created }
    case .generation: .integer(.never) { $0.installation.column }
    }
  }
}

extension StoredNotice: TableEntry {
  package init(_ row: TableRow<NoticeColumn>) throws(UnreadableValue) {
    let callback = try row.id(.callback)
    self.init(
      id: try row.digest(.id), callback: callback == StoredNotice.noCallback ? nil : CallbackID(callback),
      installation: InstallationIdentity(
        try row.id(.installation), column: try row.optionalInteger(.generation)),
      action: try row.word(.action), serial: Int(try row.integer(.serial)), created: try row.time(.created))
  }
}
