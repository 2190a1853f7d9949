// A disk under a store's log that can be held, that can fail, and whose power can be cut.

import Dispatch
import Foundation
import Glibc
import Synchronization

@testable import Store

/// What the disk has of a log is what was really flushed: it reads the descriptor that it is given. As Linux does, it takes what
/// a failed flush has not written for written, so that no later flush writes it.
final class TestDisk: Sendable {
  fileprivate static let block = 512

  private struct State {
    var isHeld = false
    var failures = 0
    var begun = 0
    var ended = 0
    var inside = 0
    var most = 0
    /// The log as it was when it was flushed last, with or without success.
    var seen: [UInt8] = []
    /// What the disk has of it.
    var kept: [UInt8] = []

    /// Writes what has changed since the last flush.
    mutating func keep(_ log: [UInt8]) {
      kept.removeLast(max(0, kept.count - log.count))
      kept += [UInt8](repeating: 0, count: log.count - kept.count)
      for start in stride(from: 0, to: log.count, by: TestDisk.block) {
        let end = min(start + TestDisk.block, log.count)
        if end <= seen.count, log[start..<end] == seen[start..<end] { continue }
        kept.replaceSubrange(start..<end, with: log[start..<end])
      }
    }
  }

  private let state = Mutex(State())
  private let release = DispatchSemaphore(value: 0)

  var flush: SQLiteLog.Flush {
    { [self] descriptor -> Int32 in
      let log = Self.content(descriptor)
      let (isHeld, fails): (Bool, Bool) = state.withLock { state in
        let fails = state.failures > 0
        if fails { state.failures -= 1 }
        state.begun += 1
        state.inside += 1
        state.most = max(state.most, state.inside)
        return (state.isHeld, fails)
      }
      if isHeld { release.wait() }
      state.withLock { (state: inout sending State) in
        if !fails { state.keep(log) }
        state.seen = log
        state.inside -= 1
        state.ended += 1
      }
      return fails ? EIO : 0
    }
  }

  /// How many flushes have begun.
  var begun: Int { state.withLock { $0.begun } }
  /// How many are over.
  var ended: Int { state.withLock { $0.ended } }
  /// How many there were at the same time, at most.
  var most: Int { state.withLock { $0.most } }
  func hold() { state.withLock { $0.isHeld = true } }
  /// Has the next flush fail.
  func failNext() { state.withLock { $0.failures = 1 } }

  /// Lets the flush that waits, and all that come, go on.
  func letGo() {
    state.withLock { $0.isHeld = false }
    release.signal()
  }

  /// Makes a copy of a database as it would be found after a power cut now: with the log as the disk has it. Nothing may be under way.
  func cut(_ path: String) throws -> String {
    let copy = path + "-cut-\(UUID())"
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    try Data(state.withLock { $0.kept }).write(to: URL(fileURLWithPath: copy + "-wal"))
    return copy
  }

  private static func content(_ descriptor: Int32) -> [UInt8] {
    let data = FileManager.default.contents(atPath: "/proc/self/fd/\(descriptor)")
    return data.map { [UInt8]($0) } ?? []
  }
}

extension TestDisk {
  /// A store with tables, on such a disk.
  static func made() async throws -> (
    place: TemporaryPlace, path: String, disk: TestDisk, store: SQLiteStore
  ) {
    let place = try TemporaryPlace()
    let disk = TestDisk()
    let path = place.path + "/state.sqlite3"
    let store = SQLiteStore(path: path, flush: disk.flush, patience: .seconds(60))
    try await store.migrate()
    return (place, path, disk, store)
  }
}

/// Waits for something that is about to be so.
func until(_ isSo: () async throws -> Bool) async throws {
  try await eventually { if try await !isSo() { throw CancellationError() } }
}
