// Collects lines of the log and the audit log from all threads and writes them on one thread, so that no
// request waits.

import Dispatch
import Platform
import Synchronization

/// Accepts lines from any thread and writes them shortly after, in order of arrival. If a client sends a
/// request after it got the response to another one, the lines of the two are in that order, even from
/// different loops.
///
/// A slow reader must not stop token vending (a full pipe blocks `write`), so appending never blocks. Lines
/// beyond `laneCapacity` are dropped and counted. The count is logged once the reader is back.
public final class LogSink: Sendable {
  /// Lines waiting in one lane.
  private struct Lane: Sendable {
    var bytes: [UInt8] = []
    /// Each line's number, counted over all lanes, and its end in `bytes`.
    var marks: [(number: UInt64, end: Int)] = []

    /// Empties the lane. Keeps the memory of an ordinary batch for the next one, and releases that of an
    /// unusually large one.
    mutating func empty() {
      bytes.removeAll(keepingCapacity: bytes.count <= LogSink.eager * 4)
      marks.removeAll(keepingCapacity: marks.count <= LogSink.eager / 64)
    }
  }

  /// The number of bytes in one lane from which on further lines are dropped. It is 8 MiB, so that a
  /// collector that stalls for two seconds loses no line at 2,000 requests a second, each with the verdicts
  /// of twenty rules and all on one loop. With many lanes it is lower, so that all lanes together stay within
  /// 64 MiB, but at least 2 MiB: a fully loaded loop logs that much in a seventh of a second, and the writing
  /// thread may wait that long for its turn on a busy machine.
  public let laneCapacity: Int
  /// The number of bytes from which on a lane is written at once rather than after `delay`.
  private static let eager = 64 * 1024
  /// How long the first line of a batch waits for others.
  static let delay = Duration.milliseconds(20)

  private let lanes: [LaneBox]
  private let dropped = Atomic<Int>(0)
  private let lastNumber = Atomic<UInt64>(0)
  /// How many lines were handed to `write`, whether or not it accepted them.
  private let settled = Atomic<UInt64>(0)
  /// How many dropped lines were reported in the output.
  private let reported = Atomic<Int>(0)
  private let waiting = Atomic<Bool>(false)
  private let stopping = Atomic<Bool>(false)
  private let work = DispatchSemaphore(value: 0)
  private let full = TimedSignal()
  private let finished = TimedSignal()
  private let delay: Duration
  private let write: @Sendable ([UInt8]) -> Int
  private let batchEnd: (@Sendable (_ number: UInt64) -> Void)?

  private final class LaneBox: Sendable {
    let lane = Mutex(Lane())
  }

  /// Makes a sink. Lines appended before `start` are written after it.
  ///
  /// - Parameters:
  ///   - lanes: How many writers append at the same time, one lane each.
  ///   - write: Writes all bytes, and may block; false if they could not be written.
  public convenience init(lanes: Int, write: @escaping @Sendable ([UInt8]) -> Bool) {
    self.init(lanes: lanes) { write($0) ? $0.count : 0 }
  }

  /// Makes a sink for an output that may accept only some of the lines.
  ///
  /// - Parameter write: Writes all bytes, and may block. Returns how many bytes it accepted, always whole
  ///   lines.
  package convenience init(lanes: Int, taking write: @escaping @Sendable ([UInt8]) -> Int) {
    self.init(lanes: lanes, delay: Self.delay, taking: write, batchEnd: nil)
  }

  /// Makes a sink that reports the end of each batch.
  ///
  /// - Parameters:
  ///   - delay: How long the first line of a batch waits for others.
  ///   - batchEnd: Called after a batch, with the number of its last line.
  init(
    lanes: Int, delay: Duration, taking write: @escaping @Sendable ([UInt8]) -> Int,
    batchEnd: (@Sendable (_ number: UInt64) -> Void)?
  ) {
    precondition(lanes > 0)
    self.delay = delay
    self.batchEnd = batchEnd
    self.lanes = (0..<lanes).map { _ in LaneBox() }
    laneCapacity = max(2 << 20, min(8 << 20, (64 << 20) / lanes))
    self.write = write
  }

  /// Starts the thread that writes. Call this once.
  /// - Parameter lossLine: Makes the line that reports how many lines were lost.
  public func start(lossLine: @escaping @Sendable (_ lost: Int) -> [UInt8]) {
    // A serial queue of its own, so that a blocked write holds up one thread and nothing else.
    DispatchQueue(label: "callgate.log").async { self.run(lossLine) }
  }

  /// How many lines were dropped because the reader was too slow.
  public var droppedLines: Int { dropped.load(ordering: .relaxed) }

  /// How many lines are lost, and reported nowhere, if the process ends now. Read it after `close`.
  package var unreportedLines: Int {
    // In this order, a thread that still writes can only make the result larger.
    let (settled, reported) = (
      settled.load(ordering: .sequentiallyConsistent), reported.load(ordering: .relaxed)
    )
    return Int(lastLine - settled) + droppedLines - reported
  }

  /// Counts lines that the output accepted and then lost.
  func drop(_ lines: Int) { dropped.wrappingAdd(lines, ordering: .relaxed) }

  /// The number of the last line that was appended.
  var lastLine: UInt64 { lastNumber.load(ordering: .sequentiallyConsistent) }

  /// Appends one line, which must end in a newline. Returns at once.
  public func append(_ line: [UInt8], lane index: Int) {
    append(lane: index) { $0.append(contentsOf: line) }
  }

  /// Appends what `body` writes: one whole line that ends in a newline. Returns at once.
  /// - Returns: Whether there was room for it. Otherwise `body` was not called.
  @inline(__always) @discardableResult
  func append(lane index: Int, _ body: (inout [UInt8]) -> Void) -> Bool {
    var isFull = false
    let accepted = lanes[index % lanes.count].lane.withLock { lane in
      guard lane.bytes.count < laneCapacity else { return false }
      let before = lane.bytes.count
      body(&lane.bytes)
      let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
      lane.marks.append((number, lane.bytes.count))
      isFull = before < Self.eager && lane.bytes.count >= Self.eager
      return true
    }
    guard accepted else {
      dropped.wrappingAdd(1, ordering: .relaxed)
      return false
    }
    if !waiting.load(ordering: .relaxed), !waiting.exchange(true, ordering: .acquiringAndReleasing) {
      work.signal()
    }
    if isFull { full.signal() }
    return true
  }

  /// Writes the waiting lines and ends the thread. Returns false after more than `timeout`.
  public func close(within timeout: Duration) -> Bool {
    stopping.store(true, ordering: .sequentiallyConsistent)
    work.signal()
    full.signal()
    return finished.wait(for: timeout)
  }

  private func run(_ lossLine: (Int) -> [UInt8]) {
    var batches = lanes.map { _ in Lane() }
    while true {
      work.wait()
      if !stopping.load(ordering: .sequentiallyConsistent) {
        if delay > .zero { _ = full.wait(for: delay) }
      }
      waiting.store(false, ordering: .sequentiallyConsistent)
      // Before the batch, which may end the audit chain.
      reportLosses(lossLine)
      drain(&batches)
      let isLast = stopping.load(ordering: .sequentiallyConsistent)
      if isLast { drain(&batches) }
      reportLosses(lossLine)
      if isLast { break }
    }
    finished.signal()
  }

  /// Writes how many lines were dropped since the last such line, if any were.
  private func reportLosses(_ lossLine: (Int) -> [UInt8]) {
    let (lost, reported) = (dropped.load(ordering: .relaxed), reported.load(ordering: .relaxed))
    guard lost > reported else { return }
    let line = lossLine(lost - reported)
    if write(line) == line.count { self.reported.store(lost, ordering: .relaxed) }
  }

  /// Writes the waiting lines of all lanes in the order of their numbers. Empties the batches for reuse.
  private func drain(_ batches: inout [Lane]) {
    take(&batches, from: 0)
    let last = batchEnd == nil ? nil : batches.lazy.compactMap { $0.marks.last?.number }.max()
    defer {
      if let last { batchEnd?(last) }
    }
    var rest = batches.indices.filter { !batches[$0].marks.isEmpty }
    // Nearly always only one lane has lines, and nothing needs sorting.
    if rest.count == 1 {
      output(batches[rest[0]].bytes, lines: batches[rest[0]].marks.count)
      batches[rest[0]].empty()
      return
    }
    var next = batches.map { _ in 0 }
    var merged: [UInt8] = []
    merged.reserveCapacity(min(rest.reduce(0) { $0 + batches[$1].bytes.count }, Self.eager * 2))
    var lines = 0
    while let first = rest.min(by: { batches[$0].marks[next[$0]].number < batches[$1].marks[next[$1]].number }
    ) {
      // The lines of this lane come first up to `bound`, the lowest next number of any other lane.
      var bound = UInt64.max
      for other in rest where other != first { bound = min(bound, batches[other].marks[next[other]].number) }
      let begin = next[first]
      while next[first] < batches[first].marks.count, batches[first].marks[next[first]].number < bound {
        next[first] += 1
      }
      let start = begin == 0 ? 0 : batches[first].marks[begin - 1].end
      merged.append(contentsOf: batches[first].bytes[start..<batches[first].marks[next[first] - 1].end])
      lines += next[first] - begin
      if next[first] == batches[first].marks.count {
        rest.removeAll { $0 == first }
        batches[first].empty()
      }
      if merged.count >= Self.eager {
        output(merged, lines: lines)
        merged.removeAll(keepingCapacity: merged.count <= Self.eager * 4)
        lines = 0
      }
    }
    if lines > 0 { output(merged, lines: lines) }
  }

  /// Takes the waiting lines of the lanes from `index` on while it holds all their locks, so that these lines
  /// precede all later ones.
  private func take(_ batches: inout [Lane], from index: Int) {
    guard index < lanes.count else { return }
    lanes[index].lane.withLock { lane in
      swap(&lane, &batches[index])
      take(&batches, from: index + 1)
    }
  }

  private func output(_ bytes: [UInt8], lines: Int) {
    let taken = write(bytes)
    if taken < bytes.count { drop(bytes[taken...].count { $0 == UInt8(ascii: "\n") }) }
    settled.wrappingAdd(UInt64(lines), ordering: .sequentiallyConsistent)
  }
}
