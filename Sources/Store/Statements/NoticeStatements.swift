// The statements on notices, devices and claims that every database takes.

import Gate
import JOSE

package enum NoticeStatements {
  // MARK: Notices

  static let dueQuestions = due("questions", "settled IS NULL")
  static let dueNews = due("news", "settled IS NOT NULL")

  /// The due notices of callbacks; the condition is the one of an index.
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

  /// The same for callbacks with a device of their own.
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

  /// With its callback, which may be forgotten.
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

  /// The device of an installation, without it.
  package static let device = Query<RegisteredDevice>(
    "device",
    """
    SELECT platform, token, registered FROM callgate_device JOIN callgate_installation ON id = installation
    WHERE installation = $1 AND generation = $2
    """, [.text, .text, .integer]
  ) { row throws(UnreadableValue) in
    RegisteredDevice(platform: try row.text(0), token: try row.text(1), registered: try row.time(2))
  }

  static let claim = claims("claim", "id = $1")

  /// Some claims, and whether each is live.
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

  /// As the device of an installation.
  package func of(_ installation: InstallationIdentity) -> StoredDevice {
    StoredDevice(installation: installation, platform: platform, token: token, registered: registered)
  }
}
