// Upgrades the schema of a PostgreSQL store while other instances serve requests.

import Glibc
import Platform
import Store

/// An upgrade of the schema on a separate connection.
///
/// A waiting lock holds up every request behind it. So the upgrade waits only half a second for the locks of
/// its tables, then releases everything and finds out which transactions block it. It requests the locks
/// again when those have ended: a reader that runs for hours, such as `pg_dump`, delays requests by half a
/// second once. Half a second is also less than `deadlock_timeout`, so PostgreSQL ends no request because of
/// the upgrade.
struct PostgresUpgrade {
  /// The number of the lock that upgrades hold: `callgate` as bytes.
  private static let lock: Int64 = 0x6361_6C6C_6761_7465
  /// The longest time that requests wait behind the upgrade's locks, in milliseconds.
  private static let lockTimeout = 500
  /// The same time for one try after a vacuum has locked a table: PostgreSQL cancels an automatic vacuum
  /// after `deadlock_timeout`, which is one second.
  private static let lockTimeoutForVacuum = 1500
  /// The longest time that one statement of the changes runs while requests wait for it, in milliseconds.
  private static let statementTimeout = 1700
  /// The average pause between two checks of what blocks the upgrade.
  private static let pause = Duration.milliseconds(500)

  /// A transaction that has locked a table.
  private struct Holder: Hashable {
    let transaction: String
    /// The process of the transaction, for operators.
    let name: String
    let isVacuum: Bool
  }

  private let connection: PostgresConnection
  private let clock: any TimeSource
  private let deadline: MonotonicTime?
  private let report: (String) -> Void
  private var reported = ""

  /// - Parameters:
  ///   - deadline: The time at which the upgrade stops waiting; nil for never.
  ///   - report: Called with a sentence for operators when the upgrade builds an index or waits for something
  ///     new.
  init(
    _ connection: PostgresConnection, _ clock: any TimeSource, until deadline: MonotonicTime?,
    report: @escaping (String) -> Void
  ) {
    self.connection = connection
    self.clock = clock
    self.deadline = deadline
    self.report = report
  }

  /// Runs the missing steps. If several upgrades run at once, one works and the others wait.
  ///
  /// - Returns: The version afterwards. It is greater than the latest one that this release knows if a newer
  ///   release has upgraded the schema.
  mutating func run() throws(PostgresFailure) -> Int {
    while true {
      // A lock statement that waits would hold a snapshot, and the index builds of the other upgrade would
      // wait for that snapshot.
      let isLocked = try value("SELECT pg_try_advisory_lock(\(Self.lock))") == "t"
      let version = try PostgresSession.version(connection)
      if version >= Migration.latest { return version }
      if isLocked {
        try upgrade(from: version)
        return Migration.latest
      }
      try wait(for: "another process that upgrades the schema")
    }
  }

  private mutating func upgrade(from version: Int) throws(PostgresFailure) {
    guard version > 0 else { return try create() }
    let prepared = try value("SELECT value FROM callgate_meta WHERE name = '\(SchemaUpgrade.mark)'")
    let plan = SchemaUpgrade(from: version, prepared: prepared.flatMap { Int($0) } ?? 0, \.postgres)
    let versions =
      applied(since: version) + ["DELETE FROM callgate_meta WHERE name = '\(SchemaUpgrade.mark)'"]
    if plan.indexes.isEmpty {
      try change(plan.changes + versions, of: plan.tables)
    } else {
      if !plan.changes.isEmpty {
        let mark = """
          INSERT INTO callgate_meta (name, value) VALUES ('\(SchemaUpgrade.mark)', '\(Migration.latest)')
          ON CONFLICT (name) DO UPDATE SET value = excluded.value
          """
        try change(plan.changes + [mark], of: plan.tables)
      }
      for index in plan.indexes { try build(index) }
      try change(versions, of: [])
    }
  }

  /// Creates the whole schema in one transaction.
  private func create() throws(PostgresFailure) {
    let statements =
      ["CREATE TABLE IF NOT EXISTS callgate_schema (version bigint PRIMARY KEY, applied bigint NOT NULL)"]
      + Migration.all.flatMap(\.postgres) + applied(since: 0)
      + ["INSERT INTO callgate_meta (name, value) VALUES ('hash_key', '\(StoreIDMaker.newKey().hex)')"]
    _ = try connection.run(
      (["BEGIN", "SET LOCAL statement_timeout = 0"] + statements + ["COMMIT"]).map { .plain($0) },
      within: .seconds(90))
  }

  /// The statements that save which steps were applied.
  private func applied(since version: Int) -> [String] {
    (version..<Migration.latest).map {
      "INSERT INTO callgate_schema (version, applied) VALUES (\($0 + 1), \(clock.unixTime.seconds))"
    }
  }

  // MARK: Changes

  /// Runs statements in one transaction that first locks tables, and tries again until it gets the locks.
  private mutating func change(_ statements: [String], of tables: [String]) throws(PostgresFailure) {
    var timeout = Self.lockTimeout
    /// The vacuums for which the upgrade has already waited longer.
    var vacuums: Set<Holder> = []
    while true {
      let locks =
        tables.isEmpty ? [] : ["LOCK TABLE \(tables.joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE"]
      // `lock_timeout` applies to each table, `statement_timeout` to all of them together.
      let settings = [
        "BEGIN", "SET LOCAL lock_timeout = \(timeout)", "SET LOCAL statement_timeout = \(timeout)",
      ]
      let limit = ["SET LOCAL statement_timeout = \(Self.statementTimeout)"]
      do throws(PostgresFailure) {
        _ = try connection.run(
          (settings + locks + limit + statements + ["COMMIT"]).map { .plain($0) }, within: .seconds(10))
        return
      } catch {
        // The lock was not available, the time ran out, or there was a deadlock.
        guard ["55P03", "57014", "40P01"].contains(error.state) else { throw error }
      }
      timeout = Self.lockTimeout
      var long = try holders(of: tables)
      try pause(for: "transactions that use its tables")
      long.formIntersection(try holders(of: tables))
      while !long.isEmpty {
        if long.allSatisfy({ $0.isVacuum && !vacuums.contains($0) }) {
          vacuums.formUnion(long)
          timeout = Self.lockTimeoutForVacuum
          break
        }
        try wait(for: long.map(\.name).sorted().joined(separator: ", "))
        long.formIntersection(try holders(of: tables))
      }
    }
  }

  /// The transactions of other sessions that have locked one of the tables.
  private func holders(of tables: [String]) throws(PostgresFailure) -> Set<Holder> {
    let found = try connection.run(
      [
        .plain(
          """
          SELECT held.virtualtransaction, coalesce('process ' || held.pid, 'a prepared transaction')
              || coalesce(' (' || nullif(session.application_name, '') || ')', ''),
            bool_or(held.mode = 'ShareUpdateExclusiveLock')
          FROM pg_locks AS held LEFT JOIN pg_stat_activity AS session ON session.pid = held.pid
          WHERE held.locktype = 'relation' AND held.granted AND held.pid IS DISTINCT FROM pg_backend_pid()
            AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND held.relation IN (SELECT to_regclass(name) FROM unnest('\(PostgresText.array(tables))'::text[]) AS name)
          GROUP BY 1, 2
          """)
      ], within: PostgresSession.span)[0]
    return Set(
      found.rows.compactMap { row in
        guard let transaction = row[0], let name = row[1] else { return nil }
        return Holder(transaction: transaction, name: name, isVacuum: row[2] == "t")
      })
  }

  // MARK: Indexes

  /// Builds an index while requests continue, unless it exists. PostgreSQL leaves behind an index that it
  /// could not finish; such an index is dropped first.
  private mutating func build(_ index: SchemaUpgrade.Index) throws(PostgresFailure) {
    while true {
      let isValid = try value(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('\(index.name)')")
      if isValid == "t" { return }
      tell("builds the index \(index.name), beside requests and as soon as older transactions have ended")
      do throws(PostgresFailure) {
        if isValid != nil { try runAlone("DROP INDEX CONCURRENTLY \(index.name)") }
        try runAlone(index.concurrently)
      } catch {
        // A deadlock, or the time ran out.
        guard ["40P01", "57014", "55P03"].contains(error.state) else { throw error }
        try pause(for: "the index \(index.name)")
      }
    }
  }

  /// Runs a statement outside of any transaction, until the deadline. The statement delays no request, so it
  /// may wait for its locks.
  private func runAlone(_ sql: String) throws(PostgresFailure) {
    let left = deadline.map { max($0 - clock.now, .milliseconds(1)) }
    let limit = left.map { $0.nanosecondsClamped / 1_000_000 } ?? 0
    _ = try connection.run(
      [.plain("SET lock_timeout = 0"), .plain("SET statement_timeout = \(limit)")],
      within: PostgresSession.span)
    _ = try connection.run([.plain(sql)], within: left.map { $0 + .seconds(5) } ?? .seconds(20 * 86_400))
  }

  // MARK: Waiting

  /// Reports what the upgrade waits for, and pauses.
  private mutating func wait(for cause: String) throws(PostgresFailure) {
    tell("waits for \(cause)")
    try pause(for: cause)
  }

  /// Pauses, or fails after the deadline.
  private func pause(for cause: String) throws(PostgresFailure) {
    if let deadline, clock.now >= deadline {
      throw PostgresFailure(
        operation: StoreError.upgrade, state: "55P03",
        message:
          "the upgrade still waits for \(cause): run `callgate migrate`, which waits as long as it takes")
    }
    // Random, so that not all instances try again at the same moment.
    let span = Self.pause * Double.random(in: 0.5...1.5)
    _ = poll(nil, 0, Int32(span.nanosecondsClamped / 1_000_000))
  }

  private mutating func tell(_ what: String) {
    guard what != reported else { return }
    reported = what
    report("the upgrade of the schema \(what)")
  }

  /// The only value of a query; nil if there is none.
  private func value(_ sql: String) throws(PostgresFailure) -> String? {
    try connection.run([.plain(sql)], within: PostgresSession.span)[0].rows.first?[0]
  }
}
