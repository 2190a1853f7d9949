// A simulated disk for SQLite that can hang, fill up, fail or lose power.

import CDisk
import Dispatch
import Foundation
import Glibc
import Synchronization

@testable import SQLiteStore
@testable import Store

/// A disk that keeps only flushed writes. Like Linux, it treats writes as clean after a failed flush, so no
/// later flush saves them unless they are written again.
final class TestDisk: Sendable {
  /// A file that can be flushed.
  enum File: Sendable { case log, database }

  private static let block = 512

  private struct Image {
    /// The contents that readers see.
    var seen: [UInt8] = []
    /// Blocks written since the last flush.
    var dirty: Set<Int> = []
    /// The contents after a power cut.
    var kept: [UInt8] = []

    mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
      let end = offset + bytes.count
      if seen.count < end { seen += [UInt8](repeating: 0, count: end - seen.count) }
      seen.replaceSubrange(offset..<end, with: bytes)
      dirty.formUnion(offset / TestDisk.block...(end - 1) / TestDisk.block)
    }

    mutating func flush(fails: Bool) {
      defer { dirty = [] }
      guard !fails else { return }
      kept.removeLast(max(0, kept.count - seen.count))
      kept += [UInt8](repeating: 0, count: seen.count - kept.count)
      for start in dirty.map({ $0 * TestDisk.block }) where start < seen.count {
        let end = min(start + TestDisk.block, seen.count)
        kept.replaceSubrange(start..<end, with: seen[start..<end])
      }
    }
  }

  private struct State {
    var log = Image()
    var database = Image()
    var isHeld = false
    var isFull = false
    /// Error code of the next flush, by file.
    var failures: [File: Int32] = [:]
    var begun = 0
    var ended = 0
    /// The log's greatest length so far, in bytes.
    var mostLog = 0

    subscript(_ file: File) -> Image {
      get { file == .log ? log : database }
      _modify { if file == .log { yield &log } else { yield &database } }
    }
  }

  private let state = Mutex(State())
  private let release = DispatchSemaphore(value: 0)
  /// The name under which SQLite knows the disk.
  let vfs = "disk-\(UUID())"

  init() {
    // SQLite knows the disk for the rest of the process.
    let code = callgate_disk_register(
      vfs,
      callgate_disk(
        context: Unmanaged.passRetained(self).toOpaque(),
        write: { context, isLog, offset, bytes, count in
          TestDisk.of(context).write(
            TestDisk.file(isLog), UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
        },
        truncate: { context, isLog, size in
          TestDisk.of(context).state.withLock { state in
            let file = TestDisk.file(isLog)
            state[file].seen.removeLast(max(0, state[file].seen.count - Int(size)))
          }
        },
        sync: { context, isLog in TestDisk.of(context).sync(TestDisk.file(isLog)) },
        remove_log: { context in TestDisk.of(context).state.withLock { $0.log = Image() } }))
    precondition(code == 0)
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> TestDisk {
    Unmanaged<TestDisk>.fromOpaque(context!).takeUnretainedValue()
  }

  private static func file(_ isLog: Int32) -> File { isLog == 0 ? .database : .log }

  private func write(_ file: File, _ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
    let copy = Array(bytes)
    return state.withLock { state in
      // A full disk still accepts writes within a file's current length.
      if state.isFull, offset + copy.count > state[file].seen.count { return ENOSPC }
      copy.withUnsafeBytes { state[file].write($0, at: offset) }
      state.mostLog = max(state.mostLog, state.log.seen.count)
      return 0
    }
  }

  private func sync(_ file: File) -> Int32 {
    let isHeld = state.withLock { state in
      state.begun += 1
      return state.isHeld
    }
    if isHeld { release.wait() }
    return state.withLock { state in
      let failure = state.failures.removeValue(forKey: file)
      state[file].flush(fails: failure != nil)
      state.ended += 1
      return failure ?? 0
    }
  }

  /// How many flushes have begun.
  var begun: Int { state.withLock { $0.begun } }
  /// How many flushes have ended.
  var ended: Int { state.withLock { $0.ended } }
  /// The log's greatest length so far, in bytes.
  var mostLog: Int { state.withLock { $0.mostLog } }
  /// Holds flushes from now on. Only one may come.
  func hold() { state.withLock { $0.isHeld = true } }
  /// Makes the next flush fail.
  func failNext(_ file: File = .log, _ code: Int32 = EIO) { state.withLock { $0.failures[file] = code } }
  /// Makes the disk full, so that no file can grow, or makes room again.
  func setFull(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }

  /// Lets the waiting flush and all later ones finish.
  func letGo() {
    state.withLock { $0.isHeld = false }
    release.signal()
  }

  /// Copies a database as it would be found after a power cut now. No operation may be under way.
  func cut(_ path: String) throws -> String {
    let copy = path + "-cut-\(UUID())"
    let (log, database) = state.withLock { ($0.log.kept, $0.database.kept) }
    try Data(database).write(to: URL(fileURLWithPath: copy))
    try Data(log).write(to: URL(fileURLWithPath: copy + "-wal"))
    return copy
  }

  /// Copies a database as another process would find it if its process were killed now. From then on, the
  /// disk serves that copy.
  func kill(_ path: String) throws -> String {
    let copy = path + "-killed-\(UUID())"
    let (log, database) = state.withLock { ($0.log.seen, $0.database.seen) }
    try Data(database).write(to: URL(fileURLWithPath: copy))
    try Data(log).write(to: URL(fileURLWithPath: copy + "-wal"))
    return copy
  }
}

extension TestDisk {
  /// A migrated store on a new disk.
  static func made(patience: Duration = .seconds(60)) async throws -> (
    place: TemporaryPlace, path: String, disk: TestDisk, store: SQLiteStore
  ) {
    let place = try TemporaryPlace()
    let disk = TestDisk()
    let path = place.path + "/state.sqlite3"
    let store = SQLiteStore(path: path, vfs: disk.vfs, patience: patience)
    try await store.migrate()
    return (place, path, disk, store)
  }
}
