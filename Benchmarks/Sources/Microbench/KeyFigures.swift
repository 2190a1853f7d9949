// Measures the memory and time that a million separately counted users cost, in memory and in SQLite.

import Gate
import Platform
import SQLiteStore
import Store

#if canImport(Glibc)
  import Glibc
#endif

/// What a million users cost who are counted one by one, and that they are forgotten.
enum KeyFigures {
  private static let count = 1_000_000
  /// Memory does not grow with what is in a file, so fewer show as much.
  private static let inFile = 100_000
  private static let rules = Array(
    #"[{"name":"per-user","kind":"rate","key":"subject","limit":30,"per":"1m"}]"#.utf8)
  private static let start = Instant(seconds: 1_795_176_000)
  /// When every allowance is whole again.
  private static let end = Instant(seconds: 1_795_176_000 + 3_600)

  /// In memory.
  static func memory(seconds: Double) throws -> [Figure] {
    let (taken, left) = try use(.inMemory(), count)
    return [
      .mebibytes("resident memory of 1,000,000 rate keys, store in memory", taken),
      .mebibytes("the same when they have expired", left),
    ]
  }

  /// In SQLite; the file is on a disk of its own account.
  static func sqlite(seconds: Double) throws -> [Figure] {
    let path = "\(temporaryFolder)/callgate-keys-\(getpid()).sqlite3"
    defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
    let (taken, _) = try use(SQLiteStore(path: path), inFile)
    return [.mebibytes("resident memory of 100,000 rate keys, store in SQLite", taken)]
  }

  /// Takes of so many allowances as requests do, and forgets them: how much resident memory that took, and how much is left of it.
  private static func use(_ store: SQLiteStore, _ count: Int) throws -> (taken: Int, left: Int) {
    ProcessSetup.returnLargeBlocks()
    let policy = try RuleFigures.policy(rules)
    let ledger = AllowanceLedger(store: store)
    let before = resident()
    let (after, forgotten, kept) = try wait { () async throws -> (Int, Int, Int) in
      try await store.migrate()
      for batch in stride(from: 0, to: count, by: 250) {
        let together = (batch..<batch + 250).flatMap { charges(policy, $0) }
        guard case .taken = await ledger.take(together, at: start).outcome else {
          preconditionFailure("the benchmark's own request was refused")
        }
      }
      let after = resident()
      let forgotten = try await store.purge(at: end)
      let kept = try await store.states(of: [key(0), key(count - 1)]).count { $0 != nil }
      return (after, forgotten, kept)
    }
    precondition(forgotten == count && kept == 0, "\(forgotten) of \(count) were forgotten")
    let left = resident()
    try wait { await store.close() }
    return (after - before, left - before)
  }

  private static func key(_ number: Int) -> AllowanceKey {
    AllowanceKey(rule: "per-user", party: .subject("user-\(number)@shop.example"))
  }

  private static func charges(_ policy: Policy, _ number: Int) -> [AllowanceCharge] {
    let facts = Facts(
      action: .access, callerID: "app-users", subject: "user-\(number)@shop.example", installation: nil,
      appID: nil, address: nil, phone: nil, claims: [], fields: [], instant: start, at: nil, agents: nil,
      number: nil)
    guard case .allow(let clearance) = policy.decide(facts, states: PresumedStates()).outcome else {
      preconditionFailure("the benchmark's own request was refused")
    }
    return clearance.charges
  }

  /// Waits on the main thread, which has nothing else to do.
  private static func wait<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws
    -> Value
  {
    let over = Waiter<Value>()
    Task.detached {
      do { over.end(.success(try await body())) } catch { over.end(.failure(error)) }
    }
    return try over.result()
  }

  private static var temporaryFolder: String {
    getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
  }

  /// Resident bytes of this process (proc(5), `statm`).
  private static func resident() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { preconditionFailure("no /proc") }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, Int32(line.count), file) != nil else { preconditionFailure("no statm") }
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let fields = text.split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else { preconditionFailure("no statm") }
    return pages * sysconf(Int32(_SC_PAGESIZE))
  }
}
