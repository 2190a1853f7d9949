// The schema, step by step. A step that has been released never changes; a change is a new step at the end.

/// One step of the schema.
struct Migration: Sendable {
  /// Statements for SQLite.
  let sqlite: [String]
  /// Statements for PostgreSQL.
  let postgres: [String]

  /// The version a store has after all steps.
  static var latest: Int { all.count }

  /// All steps; a store of version n has had the first n.
  static let all: [Migration] = [
    Migration(
      sqlite: [
        "CREATE TABLE callgate_meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
        """
        CREATE TABLE callgate_allowance (
          id BLOB PRIMARY KEY NOT NULL, mark INTEGER NOT NULL, used INTEGER NOT NULL, expires INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX callgate_allowance_expires ON callgate_allowance (expires)",
        """
        CREATE TABLE callgate_stop (
          scope TEXT NOT NULL, id TEXT NOT NULL, action TEXT NOT NULL, since INTEGER NOT NULL,
          PRIMARY KEY (scope, id, action)
        ) STRICT, WITHOUT ROWID
        """,
      ],
      postgres: [
        "CREATE TABLE callgate_meta (name text PRIMARY KEY, value text NOT NULL)",
        // Room on each page, and an index whose column seldom changes: most updates then stay on their page and
        // touch no index (heap-only tuples).
        """
        CREATE TABLE callgate_allowance (
          id uuid PRIMARY KEY, mark bigint, used bigint, expires bigint NOT NULL
        ) WITH (fillfactor = 70)
        """,
        "CREATE INDEX callgate_allowance_expires ON callgate_allowance (expires)",
        """
        CREATE TABLE callgate_stop (
          scope text NOT NULL, id text NOT NULL, action text NOT NULL, since bigint NOT NULL,
          PRIMARY KEY (scope, id, action)
        )
        """,
      ])
  ]

  /// Why a store of some version cannot be used, for operators.
  static func mismatch(_ version: Int) -> String {
    version > latest
      ? "version \(version) is of a newer release; this one knows \(latest)"
      : "version \(version) is older than this release's \(latest)"
  }

  /// The same as an error, with what to do.
  static func incompatible(_ version: Int) -> StoreError {
    let remedy = version > latest ? "" : ": run `callgate migrate`"
    return StoreError(.incompatible, "schema", mismatch(version) + remedy)
  }
}
