// The SQL statements on callbacks and appointments that SQLite and PostgreSQL share.

import Gate
import JOSE
import Sealing

package enum CallbackStatements {
  package typealias Records = Query<CallbackBook.Row>

  package static let record = Records("callback_read", where: "id = $1")
  package static let due = Records("due", where: "due IS NOT NULL AND due <= $1 ORDER BY due LIMIT $2")
  static let withoutOrigin = Records(
    "without_origin", where: "due IS NOT NULL AND generation IS NULL LIMIT $1")
  package static let appointments = Records(
    "appointments",
    where: "status = 'scheduled' AND caller = $1 AND coalesce(subject, caller) = $2 ORDER BY at, id LIMIT $3")
  package static let ofCall = Records(
    "of_call",
    where: "numbers IS NOT NULL AND numbers = $1 AND handed_over BETWEEN $2 AND $3 LIMIT $4")
  /// The latest time of a callback that was saved without a hash of its numbers and may have a call: when it
  /// was settled, otherwise the booked time, otherwise its creation. A release that did not save the hash
  /// made the callback.
  static let lastWithoutNumbers = Query<Instant>(
    "last_without_numbers",
    """
    SELECT coalesce(settled, at, created) FROM callgate_callback
    WHERE numbers IS NULL AND ticket IS NULL AND status IN ('pending', 'accepted', 'unknown')
      AND coalesce(settled, at, created) > 0
    ORDER BY coalesce(settled, at, created) DESC LIMIT 1
    """, [.integer]
  ) { row throws(UnreadableValue) in Instant(nanosecondsSinceEpoch: try row.integer(0)) }
  /// The creation time of the first callback after an id that has the hash of its numbers.
  static let firstWithNumbers = Query<Instant>(
    "first_with_numbers",
    "SELECT created FROM callgate_callback WHERE id > $1 AND numbers IS NOT NULL ORDER BY id LIMIT 1",
    [.integer]
  ) { row throws(UnreadableValue) in Instant(nanosecondsSinceEpoch: try row.integer(0)) }
  package static let alias = Records("alias", where: "alias IS NOT NULL AND alias = $1")

  /// Scheduled appointments after an id that another API (GMS) can find by phone number, in the order of
  /// their ids.
  static let numberedAliases = Records(
    "numbered_aliases",
    where:
      "alias_number IS NOT NULL AND content IS NOT NULL AND status = 'scheduled' AND id > $1 ORDER BY id LIMIT $2"
  )
  static let renewAlias = Change(
    "renew_alias",
    """
    UPDATE callgate_callback SET alias_number = $1, content = $2, content_key = $3 WHERE id = $4 AND content = $5
    """)

  /// A call that replaces the hash of an appointment's number, and its content, unless the content was
  /// replaced meanwhile. Safe to repeat.
  static func renewing(_ appointment: DueAppointment, by renewal: AliasRenewal) -> ChangeCall {
    ChangeCall(
      renewAlias, .bytes(renewal.number.bytes), .bytes(renewal.content),
      .optional(StoreKeys.keyID(of: renewal.content)?.bytes), .id(appointment.record.id.id),
      .bytes(appointment.content))
  }

  /// Reads a request's key with the callback record that it names. One statement, because between two another
  /// process could settle the record.
  package static let key = Query<(row: CallbackBook.Row, key: CallbackBook.NamedKey)>(
    "key_standing",
    """
    SELECT \(CallbackColumn.table.list(of: "named")), \(KeyColumn.table.list(of: "kept"))
    FROM callgate_callback_key AS kept JOIN callgate_callback AS named ON named.id = kept.callback
    WHERE kept.id = $1
    """, CallbackColumn.table.types + KeyColumn.table.types
  ) { row throws(UnreadableValue) in
    (try row.entry(), try row.dropFirst(CallbackColumn.table.count).entry())
  }
  package static let place = Query<CallbackBook.NamedPlace>("place_standing", where: "id = $1")

  /// A page of callback records before an id, newest first: those with a status, or all.
  static func page(_ status: StoredCallback.Status?) -> Records {
    Records(
      "list_\(status?.rawValue ?? "all")",
      where: "\(CallbackQuery.condition(status))id < $1 ORDER BY id DESC LIMIT $2")
  }

  static let takenPlaces = Query<(slot: Int64, taken: Int)>(
    "taken_places",
    """
    SELECT slot, count(*) FROM callgate_callback WHERE slot IS NOT NULL AND slot BETWEEN $1 AND $2 GROUP BY slot
    """, [.integer, .integer]
  ) { row throws(UnreadableValue) in (try row.integer(0), Int(try row.integer(1))) }

  static let pendingAppointments = Query<Int>(
    "pending_appointments",
    "SELECT count(*) FROM callgate_callback WHERE status = 'pending' AND at IS NOT NULL", [.integer]
  ) { row throws(UnreadableValue) in Int(try row.integer(0)) }

  /// Counts a portion of the scheduled appointments after a due time (`$2`), in the order of their due times.
  /// Appointments with the same due time are counted together. `overdue` counts those due before `$1`, and
  /// `last` is the last due time of the portion.
  static let scheduledAppointments = Query<(count: Int, overdue: Int, last: Int64?)>(
    "scheduled_appointments",
    """
    SELECT count(*), count(CASE WHEN due < $1 THEN 1 END), max(due) FROM callgate_callback
    WHERE due IS NOT NULL AND due > $2 AND due <= coalesce((
      SELECT due FROM callgate_callback WHERE due IS NOT NULL AND due > $2
      ORDER BY due LIMIT 1 OFFSET \(RowCounts.portion - 1)), \(Int64.max))
    """, [.integer, .integer, .integer]
  ) { row throws(UnreadableValue) in
    (Int(try row.integer(0)), Int(try row.integer(1)), try row.optionalInteger(2))
  }

  /// The statements of a purge, in this order: rows that point to a record are deleted before it. Codes and
  /// contents are columns of records. Callgate wipes a content at the end of its appointment. An instance of
  /// an older release that ends an appointment does not know the content, and leaves it.
  static let purges = [
    Change(purging: "places", "callgate_callback_place", where: "kept.expires <= $1"),
    Change(
      purging: "keys", "callgate_callback_key",
      where: """
        kept.expires <= $1 AND NOT EXISTS (
          SELECT 1 FROM callgate_callback AS named
          WHERE named.id = kept.callback AND named.status IN ('scheduled', 'pending'))
        """),
    Change(
      purging: "codes", "callgate_callback",
      "UPDATE callgate_callback SET verification_code = NULL, verification_key = NULL, verification_until = NULL",
      where: """
        kept.verification_key IS NOT NULL AND kept.verification_until <= $1
          AND kept.status NOT IN ('scheduled', 'pending')
        """),
    Change(
      purging: "contents", "callgate_callback",
      "UPDATE callgate_callback SET content = NULL, content_key = NULL, content_until = NULL",
      where: """
        kept.content_key IS NOT NULL AND kept.content_until <= $1 AND kept.status NOT IN ('scheduled', 'pending')
        """),
    Change(
      purging: "callbacks", "callgate_callback",
      where: "kept.expires <= $1 AND kept.status NOT IN ('scheduled', 'pending')"),
  ]
}
