// Fills a store with rows by SQL.

import Gate

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

/// Finished callbacks, appointments, installations and allowances, as many of each.
struct ManyRows {
  let count: Int
  /// How many appointments in a row are due at the same time.
  var together = 1
  /// How many installations in a row are revoked, of each hundred.
  var revoked = 1

  /// When the first appointment is due. The next follow a second apart.
  static let firstDue = Instant.noon(86_400)

  private static let callback = """
    INSERT INTO callgate_callback (id, caller, contact, created, status, instance, abandoned, expires, settled, due, at,
      slot, generation, content, content_key, content_until, numbers)
    """

  /// The statements, in the words of a database.
  ///
  /// - Parameters:
  ///   - numbers: The rows of a column `n` from 1 to the count.
  ///   - id: An id with a first digit, from `n`.
  ///   - octets: As many octets as a digest has.
  private func statements(_ numbers: String, id: (Int) -> String, octets: String) -> [String] {
    let (noon, due) = (Instant.noon().nanosecondsSinceEpoch, Self.firstDue.nanosecondsSinceEpoch)
    let later = "\(due) + n / \(together) * 1000000000"
    return [
      """
      \(Self.callback) SELECT \(id(1)), 'ios-app', '+*********65', \(noon), 'accepted', 1, \(noon),
        \(due) + n, \(noon), NULL, NULL, NULL, 0, NULL, NULL, NULL, \(id(5)) \(numbers)
      """,
      """
      \(Self.callback) SELECT \(id(2)), 'ios-app' || n % 1000, '+*********65', \(noon), 'scheduled', 1, \(later),
        \(later) + 1, NULL, \(later), \(later), \(due / 1_000_000_000) + n / 100, 0, \(octets), \(octets),
        \(later), NULL \(numbers)
      """,
      """
      INSERT INTO callgate_installation (id, client_app, app, address, secret, generation, created, used, revoked,
        last_step, counter, failures)
      SELECT \(id(3)), 'Shop', 'shop', '192.0.2.1', \(octets), 1, \(noon), \(noon) + n,
        CASE WHEN n % 100 < \(revoked) THEN \(noon) END, 0, 0, 0 \(numbers)
      """,
      """
      INSERT INTO callgate_allowance (id, mark, used, expires)
      SELECT \(id(4)), 0, 1, \(due / 1_000_000_000) + n % 1000 * 600 \(numbers)
      """,
    ]
  }

  func fill(_ path: String) throws {
    let connection = try SQLiteConnection(path: path)
    let numbers = """
      FROM (WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < \(count))
      SELECT n FROM counted)
      """
    try connection.execute("BEGIN")
    for sql in statements(
      numbers, id: { "CAST(printf('\($0)%015d', n) AS BLOB)" }, octets: "zeroblob(32)")
    {
      try connection.execute(sql)
    }
    try connection.execute("COMMIT")
  }

  func fill(_ connection: PostgresConnection) throws {
    let sql = statements(
      "FROM generate_series(1::bigint, \(count)) AS n", id: { "('\($0)' || lpad(to_hex(n), 31, '0'))::uuid" },
      octets: "decode(repeat('00', 32), 'hex')")
    _ = try connection.run(
      [.plain("SET statement_timeout = 0")] + sql.map { .plain($0) } + [.plain("ANALYZE")],
      within: .seconds(900))
  }
}
