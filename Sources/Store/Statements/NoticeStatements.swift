// The SQL statements on notifications, devices and claims that SQLite and PostgreSQL share.

import Gate
import JOSE

package enum NoticeStatements {
  // MARK: Notices

  static let dueQuestions = due("questions", "settled IS NULL")
  static let dueNews = due("news", "settled IS NOT NULL")

  /// The due notifications of callbacks to registered devices. The condition is that of an index.
  private static func due(_ name: String, _ condition: String) -> Query<DueNotice?> {
    Query(
      "due_\(name)",
      """
      SELECT callback.*, device.platform, device.token, device.registered, kept.generation
      FROM (SELECT \(CallbackColumn.table.list) FROM callgate_callback
        WHERE notice_next IS NOT NULL AND \(condition) AND notice_next BETWEEN $1 AND $2) AS callback
      JOIN callgate_device AS device ON device.installation = callback.notifies
      JOIN callgate_installation AS kept ON kept.id = device.installation AND kept.revoked IS NULL
        AND CASE WHEN callback.notifies_generation IS NULL THEN kept.generation <= callback.created
          ELSE kept.generation = callback.notifies_generation END
      WHERE device.platform = $3 AND callback.status <> 'pending' ORDER BY notice_next LIMIT $4
      """, CallbackColumn.table.types + [.text, .text, .integer, .integer]
    ) { row throws(UnreadableValue) in
      let callback: CallbackBook.Row = try row.entry()
      guard let id = callback.record.notices?.installation.id else { return nil }
      let device = row.dropFirst(CallbackColumn.table.count)
      return DueNotice(
        callback.record,
        to: StoredDevice(
          installation: InstallationIdentity(id, generation: try device.integer(3)),
          platform: try device.text(0), token: try device.text(1), registered: try device.time(2)))
    }
  }

  static let givenQuestions = given("questions", "settled IS NULL")
  static let givenNews = given("news", "settled IS NOT NULL")

  /// The due notifications of callbacks whose request named a device. The condition is that of an index.
  private static func given(_ name: String, _ condition: String) -> Query<DueNotice?> {
    Query(
      "given_\(name)",
      """
      SELECT \(CallbackColumn.table.list) FROM callgate_callback
      WHERE notice_next IS NOT NULL AND \(condition) AND notice_next BETWEEN $1 AND $2
        AND device_platform = $3 AND status <> 'pending' ORDER BY notice_next LIMIT $4
      """, CallbackColumn.table.types
    ) { row throws(UnreadableValue) in
      let callback: CallbackBook.Row = try row.entry()
      return DueNotice(callback.record)
    }
  }

  /// Reads a notification with its callback, unless the callback is already deleted.
  static let notice = Query<FoundNotice>(
    "notice",
    """
    SELECT \(NoticeColumn.table.list(of: "notice")), \(CallbackColumn.table.list(of: "callback"))
    FROM callgate_notice AS notice LEFT JOIN callgate_callback AS callback ON callback.id = notice.callback
    WHERE notice.id = $1
    """, NoticeColumn.table.types + CallbackColumn.table.types
  ) { row throws(UnreadableValue) in
    let notice: StoredNotice = try row.entry()
    let kept = row.dropFirst(NoticeColumn.table.count)
    guard !kept.isNull(0) else { return FoundNotice(notice: notice, record: nil) }
    let callback: CallbackBook.Row = try kept.entry()
    return FoundNotice(notice: notice, record: callback.record)
  }

  static let put = Change(putting: NoticeColumn.self)

  // MARK: Devices and claims

  /// The device of an installation, without the installation.
  package static let device = Query<RegisteredDevice>(
    "device",
    """
    SELECT platform, token, registered FROM callgate_device JOIN callgate_installation ON id = installation
    WHERE installation = $1 AND generation = $2
    """, [.text, .text, .integer]
  ) { row throws(UnreadableValue) in
    RegisteredDevice(platform: try row.text(0), token: try row.text(1), registered: try row.time(2))
  }

  /// The installations with other ids that have used the name of a webhook since a time. They are found by
  /// the row of the name, and by their device, which a release without these rows may have registered.
  package static let usersOfName = Query<Installation>(
    "users_of_name",
    """
    SELECT \(InstallationColumn.table.list) FROM callgate_hook_name
    JOIN callgate_installation ON id = holder AND generation = holder_generation
    WHERE name = $1 AND last > $2 AND id <> $3 AND revoked IS NULL
    UNION ALL
    SELECT \(InstallationColumn.table.list) FROM callgate_device JOIN callgate_installation ON id = installation
    WHERE name = $1 AND registered > $2 AND id <> $3 AND revoked IS NULL
    """, InstallationColumn.table.types
  ) { row throws(UnreadableValue) in try row.entry() }

  static let putDevice = Change(
    "put_device",
    """
    INSERT INTO callgate_device (installation, platform, token, name, registered) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (installation) DO UPDATE SET platform = excluded.platform, token = excluded.token,
      name = excluded.name, registered = excluded.registered
    """)
  static let removeDeviceElsewhere = Change(
    "remove_device_elsewhere", "DELETE FROM callgate_device WHERE name = $1 AND installation <> $2")
  static let removeDevice = Change(
    "remove_device", "DELETE FROM callgate_device WHERE installation = $1")
  static let freeNames = Change(
    "free_names", "DELETE FROM callgate_hook_name WHERE holder = $1 AND holder_generation = $2")
  static let forgetOldNames = Change(
    "forget_old_names",
    deleting: """
      DELETE FROM callgate_hook_name WHERE name IN (
        SELECT name FROM callgate_hook_name WHERE holder = $1 ORDER BY last DESC LIMIT 1000000000 OFFSET $2
      """)

  static let putClaim = Change(
    "put_claim",
    """
    INSERT INTO callgate_claim (id, installation, app, created, expires, receipts, state, generation)
    VALUES ($1, $2, $3, $4, $5, $6, 'live', $7)
    """)
  static let forgetOldClaims = Change(
    "forget_old_claims",
    deleting: """
      DELETE FROM callgate_claim WHERE id IN (
        SELECT id FROM callgate_claim WHERE installation = $1 AND state <> 'live'
        ORDER BY created DESC LIMIT 1000000000 OFFSET $2
      """)

  static let claim = claims("claim", "id = $1")

  /// Claims that meet a condition, and whether each is live.
  package static func claims(_ name: String, _ condition: String) -> Query<ClaimStanding> {
    Query(
      name,
      """
      SELECT id, installation, app, created, expires, receipts, state, coalesce(generation, (
        SELECT generation FROM callgate_installation AS kept WHERE kept.id = callgate_claim.installation))
      FROM callgate_claim WHERE \(condition)
      """, [.bytes, .id, .text, .integer, .integer, .bytes, .text, .integer]
    ) { row throws(UnreadableValue) in
      let claim = StoredClaim(
        id: try row.digest(0),
        installation: InstallationIdentity(try row.id(1), column: try row.optionalInteger(7)),
        appID: try row.text(2), created: try row.time(3), expires: try row.time(4),
        receipts: try row.bytes(5))
      return try row.text(6) == ClaimState.live.rawValue ? .live(claim) : .over(claim)
    }
  }

  static let purges = [
    Change(purging: "names", "callgate_hook_name", key: "name", where: "kept.last <= $1"),
    Change(purging: "claims", "callgate_claim", where: "kept.created <= $1"),
    Change(purging: "notices", "callgate_notice", where: "kept.created <= $1"),
  ]
}

/// A device without its installation.
package struct RegisteredDevice: Sendable {
  let platform, token: String
  let registered: Instant

  /// The same device, with its installation.
  package func of(_ installation: InstallationIdentity) -> StoredDevice {
    StoredDevice(installation: installation, platform: platform, token: token, registered: registered)
  }
}

extension StoredDevice {
  /// The changes that register the device. It replaces the device of its installation, and any other device
  /// with its name.
  package var registration: [ChangeCall] {
    let (id, name) = (ColumnValue.id(installation.id.id), ColumnValue.bytes(name.bytes))
    return [
      ChangeCall(NoticeStatements.removeDeviceElsewhere, name, id),
      ChangeCall(NoticeStatements.putDevice, id, .text(platform), .text(token), name, .time(registered)),
    ]
  }

  /// The change that deletes all but the `StoredDevice.mostNames` names that the installation used last.
  package var forgettingNames: ChangeCall {
    ChangeCall(
      NoticeStatements.forgetOldNames, .id(installation.id.id), .integer(Int64(StoredDevice.mostNames)))
  }
}

extension InstallationIdentity {
  /// The change that removes the device of the installation.
  package var removingDevice: ChangeCall { ChangeCall(NoticeStatements.removeDevice, .id(id.id)) }
  /// The change that frees the names of webhooks that the installation has used.
  package var freeingNames: ChangeCall {
    ChangeCall(NoticeStatements.freeNames, .id(id.id), .integer(generation))
  }
}

extension StoredClaim {
  /// The changes that save the claim as live, and delete the oldest claims of its installation that are no
  /// longer live.
  package var opening: [ChangeCall] {
    let installationID = ColumnValue.id(installation.id.id)
    return [
      ChangeCall(NoticeStatements.forgetOldClaims, installationID, .integer(Int64(StoredClaim.mostOver))),
      ChangeCall(
        NoticeStatements.putClaim, .bytes(id.bytes), installationID, .text(appID), .time(created),
        .time(expires), .bytes(receipts), .optional(installation.column)),
    ]
  }
}
