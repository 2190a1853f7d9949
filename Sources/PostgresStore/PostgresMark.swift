// Marks transactions, so that the outcome of one can be found if the server did not answer its COMMIT.

/// The row in `callgate_commit` that a transaction of `PostgresSession.once` writes first, under its
/// connection's number. The transaction locks that row until its end. So a session that reads the row waits
/// for a running transaction, and then knows whether it was committed. Unlike the server's own transaction
/// ids, the row survives a change to another server.
struct PostgresMark: Hashable, Sendable {
  /// A random number for each connection, so that a new connection never waits for the row of another.
  let connection: Int64
  /// The number of the transaction on its connection, from 1 on; 0 before the first.
  private(set) var number: Int64 = 0

  /// The mark of a new connection, before its first transaction.
  init() { connection = Int64.random(in: 1...Int64.max) }

  /// Returns the mark of the next transaction.
  mutating func next() -> PostgresMark {
    number += 1
    return self
  }

  /// The command that writes the mark, to be run first in the transaction.
  var command: PostgresCommand { .prepared(PostgresStatements.mark, ["\(connection)", "\(number)"]) }

  /// The query for the number of the connection's last committed transaction. It waits while one is running.
  var question: PostgresCommand { .prepared(PostgresStatements.lastMark, ["\(connection)"]) }

  /// Whether the result of the question shows that this transaction was committed.
  func isCommitted(_ found: PostgresRows) -> Bool { found.rows.first?[0] == "\(number)" }
}

extension PostgresStatements {
  static let mark = PostgresStatement(
    name: "callgate_mark",
    sql: """
      INSERT INTO callgate_commit AS kept (id, number, at) VALUES ($1::bigint, $2::bigint, clock_timestamp())
      ON CONFLICT (id) DO UPDATE SET number = excluded.number, at = excluded.at
      """)
  /// Makes the row if there is none: a read alone would not wait for a row that is not committed yet.
  static let lastMark = PostgresStatement(
    name: "callgate_last_mark",
    sql: """
      INSERT INTO callgate_commit AS kept (id, number, at) VALUES ($1::bigint, 0, clock_timestamp())
      ON CONFLICT (id) DO UPDATE SET at = excluded.at RETURNING number
      """)
  /// Removes the rows of connections that have done nothing for an hour: no session reads their marks after
  /// that.
  static let purgeMarks = PostgresStatement(
    name: "callgate_purge_marks",
    sql: """
      DELETE FROM callgate_commit WHERE id IN (
        SELECT id FROM callgate_commit WHERE at < clock_timestamp() - interval '1 h' FOR UPDATE SKIP LOCKED)
      """)
}
