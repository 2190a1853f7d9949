// Marks each transaction, so that its outcome can be found when the server did not answer the COMMIT.

/// The row that each transaction writes first, in `callgate_commit`, under its connection's number. The transaction locks that row
/// until its end. So a session that reads the row waits for a running transaction, and then knows whether it was committed. Unlike
/// the server's own transaction ids, the row survives a change to another server.
struct PostgresMark: Hashable, Sendable {
  /// A number of the connection's own, so that a new connection waits for no other.
  let connection: Int64
  /// Counts the connection's transactions, from 1 on.
  private(set) var number: Int64 = 0

  /// A new connection's, before its first transaction.
  init() { connection = Int64.random(in: 1...Int64.max) }

  /// The next transaction's.
  mutating func next() -> PostgresMark {
    number += 1
    return self
  }

  /// To be run in the transaction before anything else.
  var command: PostgresCommand { .prepared(PostgresStatements.mark, ["\(connection)", "\(number)"]) }

  /// Gives the number of the connection's last transaction that was committed, once none is under way.
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
  /// Connections that have done nothing for an hour: no session asks for their marks any more.
  static let purgeMarks = PostgresStatement(
    name: "callgate_purge_marks",
    sql: """
      DELETE FROM callgate_commit WHERE id IN (
        SELECT id FROM callgate_commit WHERE at < clock_timestamp() - interval '1 h' FOR UPDATE SKIP LOCKED)
      """)
}
