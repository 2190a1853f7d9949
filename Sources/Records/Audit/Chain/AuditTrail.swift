// Writes audit lines as a chain, to their own file or to stdout, and tracks which lines are on the disk.

import Dispatch
import HTTP
package import Platform
package import Sealing
import Synchronization

/// The output of audit lines: a sink whose thread adds a code to each line and writes it.
package final class AuditTrail: Sendable {
  /// How long a response waits for its line in strict mode.
  package static let patience = Duration.milliseconds(800)
  /// The number of waiting bytes from which on further lines are lost while the file accepts none.
  package static let capacity = 16 << 20

  package enum Destination: Sendable {
    case file(String)
    /// - Parameter take: Writes lines, and returns how many bytes it accepted, always whole lines.
    case output(_ take: @Sendable ([UInt8]) -> Int)
  }

  /// The state of the writing thread.
  private struct Writer: ~Copyable {
    var chain: AuditChain?
    var file: AppendedFile?
    /// Complete lines. The bytes before `written` are written.
    var bytes: [UInt8] = []
    var written = 0
    /// Lost lines that no anchor has reported yet.
    var lost = 0
    /// Whether lines were lost since all waiting lines were last written.
    var isLosing = false
    var isSynced = true
    /// The last anchor in `bytes` or the file; nil once it is known to be on the disk.
    var anchor: RecordedAnchor?

    /// How many lines wait. Anchors do not count.
    var waitingLines: Int {
      bytes[written...].split(separator: UInt8(ascii: "\n")).count {
        !$0.starts(with: AuditLineForm.anchorStart)
      }
    }
  }

  /// An anchor of the chain, which the store may record once it is on the disk.
  package struct RecordedAnchor: Hashable, Sendable {
    package let boot: String
    package let sequence: Int64
    package let code: [UInt8]
  }

  /// Requests that wait until their lines are on the disk.
  private struct Waiting: Sendable {
    var lastID: UInt64 = 0
    /// All lines up to this number were handled: they are on the disk in strict mode, lost, or doubtful.
    var recorded: UInt64 = 0
    /// Lines up to this number may be missing on the disk, because a sync failed or the file was removed.
    var doubtful: UInt64 = 0
    var entries: [UInt64: Entry] = [:]

    struct Entry: Sendable {
      let number: UInt64
      /// The number of lost lines when the request began.
      let lost: Int
      let body: @Sendable (Bool) -> Void
    }
  }

  private let path: String?
  /// The code of the last line with a code that the file already contained at the start; empty if it
  /// contained none, nil without a file.
  package let follows: [UInt8]?
  private let output: (@Sendable ([UInt8]) -> Int)?
  /// Whether responses wait until their lines are on the disk.
  package let isRequired: Bool
  private let capacity: Int
  let clock: any TimeSource
  private let log: Log
  private let writer: Mutex<Writer>
  private let waiting = Mutex(Waiting())
  private let timer = DispatchQueue(label: "callgate.audit.patience")
  private let reopens = Atomic<Bool>(false)
  private let failing = Atomic<Bool>(false)
  private let unavailable = Atomic<Int>(0)
  private let hits = Atomic<Int>(0)
  /// The number of lost lines when lines last began to fail.
  private let lostBefore = Atomic<Int>(0)
  private let anchored = Mutex<RecordedAnchor?>(nil)
  private let box = Mutex<LogSink?>(nil)

  /// Opens the file and starts the chain.
  ///
  /// - Parameters:
  ///   - key: The key of the chain; nil for lines without a chain.
  ///   - isRequired: Whether responses wait until their lines are on the disk.
  ///   - lanes: As for `LogSink`.
  ///   - capacity: How many bytes may wait before lines are lost and counted.
  package init(
    to destination: Destination, key: StoreKey?, boot: String, isRequired: Bool, lanes: Int,
    clock: any TimeSource, log: Log, capacity: Int = AuditTrail.capacity
  ) throws(SystemError) {
    var writer = Writer()
    writer.chain = key.map { AuditChain($0, boot: boot) }
    var end: FileEnd?
    switch destination {
    case .file(let path):
      (self.path, output) = (path, nil)
      let file = try AppendedFile(path: path, onDisk: isRequired)
      end = FileEnd(try file.tail(limit: 2 * AuditLineForm.longest))
      writer.file = consume file
    case .output(let write): (path, output) = (nil, write)
    }
    if end?.isOpen == true { writer.bytes.append(UInt8(ascii: "\n")) }
    follows = end?.code
    if key != nil {
      var anchor = AuditAnchor(.start, boot: boot, epoch: 0)
      anchor.follows = follows
      anchor.torn = end?.torn ?? []
      Self.append(anchor, to: &writer, at: clock.unixTime)
    }
    self.isRequired = isRequired
    self.capacity = capacity
    self.clock = clock
    self.log = log
    self.writer = Mutex(writer)
    let sink = LogSink(
      lanes: lanes, delay: isRequired ? .zero : LogSink.delay,
      taking: { [weak self] in self?.take($0) == true ? $0.count : 0 },
      batchEnd: { [weak self] in self?.ended($0) })
    box.withLock { $0 = sink }
  }

  /// The sink for audit records.
  package var sink: LogSink {
    guard let sink = box.withLock({ $0 }) else { preconditionFailure("a trail without its sink") }
    return sink
  }

  /// Whether the last lines could not be written, or not in time.
  package var isFailing: Bool { failing.load(ordering: .relaxed) }

  /// How many responses were 503 `audit_unavailable`. Requests that waited together for one user's session
  /// token count once.
  package var unavailableResponses: Int { unavailable.load(ordering: .relaxed) }

  /// How many responses were 503 `audit_unavailable` since lines began to fail.
  package var hitRequests: Int { hits.load(ordering: .relaxed) }

  /// How many lines were lost. A request reads the count at its beginning; if the count grows, the request's
  /// own line may be lost.
  package var lostLines: Int { sink.droppedLines }

  /// How many lines were lost since lines began to fail.
  package var linesLostInFailure: Int { lostLines - lostBefore.load(ordering: .relaxed) }

  /// How many lost lines no anchor has reported. Read it after `close`.
  package var unreportedLines: Int { sink.unreportedLines }

  /// The last anchor that is on the disk or, without a file, that standard output has accepted.
  package var lastAnchor: RecordedAnchor? { anchored.withLock(\.self) }

  // MARK: From any thread

  /// Requests an anchor after the lines so far.
  package func anchor(_ event: AuditAnchor.Event) { sink.append(AuditMark.anchor(event), lane: 0) }

  /// Asks the writing thread to reopen the file, which an operator or a log rotation may have renamed.
  package func reopen() {
    guard path != nil else { return }
    if !sink.append(lane: 0, { $0 += AuditMark.anchor(.reopen) }) {
      reopens.store(true, ordering: .releasing)
    }
  }

  /// Starts writing, with the start anchor first if there is a chain.
  package func start() {
    sink.append(AuditMark.begin, lane: 0)
    sink.start { AuditMark.loss($0) }
  }

  /// Ends the chain and the thread, and logs how many lines are lost now. Returns false if the thread did not
  /// end within `timeout`.
  package func close(within timeout: Duration) -> Bool {
    anchor(.end)
    let isClosed = sink.close(within: timeout)
    // A thread that still writes holds the lock.
    if isClosed { sink.drop(writer.withLock { $0.waitingLines }) }
    let lost = sink.unreportedLines
    if lost > 0 {
      log.write(
        .error, "audit lines were lost: they could not be written before the server stopped",
        ["lost": lost, "file": path ?? "stdout"])
    }
    return isClosed
  }

  /// Calls `body` once: with true as soon as all lines so far are on the disk, with false after `patience` or
  /// if one of the lines may be lost.
  /// - Parameter lost: `lostLines` before the request's own line.
  package func whenRecorded(since lost: Int, _ body: @escaping @Sendable (Bool) -> Void) {
    let number = sink.lastLine
    let (id, isDoubtful) = waiting.withLock { waiting -> (UInt64?, Bool) in
      guard waiting.recorded < number else { return (nil, number <= waiting.doubtful) }
      waiting.lastID += 1
      waiting.entries[waiting.lastID] = .init(number: number, lost: lost, body: body)
      return (waiting.lastID, false)
    }
    guard let id else { return body(!isDoubtful && lostLines == lost || refused()) }
    timer.asyncAfter(deadline: .now() + .nanoseconds(Int(Self.patience.nanosecondsClamped))) { [self] in
      guard let late = waiting.withLock({ $0.entries.removeValue(forKey: id) }) else { return }
      fails("not within \(Self.patience)")
      late.body(refused())
    }
  }

  /// Counts a request that gets 503. Returns false, which its callers pass on.
  func refused() -> Bool {
    unavailable.wrappingAdd(1, ordering: .relaxed)
    hits.wrappingAdd(1, ordering: .relaxed)
    return false
  }

  /// Waits until all lines so far are on the disk. Returns false after `patience` or if one of the lines may
  /// be lost.
  package func isRecorded(since lost: Int) async -> Bool {
    await withCheckedContinuation { continuation in
      whenRecorded(since: lost) { continuation.resume(returning: $0) }
    }
  }

  // MARK: On the writing thread

  /// Accepts whole lines and writes as many as the file accepts. Returns false if the lines are lost.
  private func take(_ lines: [UInt8]) -> Bool {
    writer.withLock { writer in
      // A new file may have space that this one lacks.
      guard
        writer.bytes.count - writer.written < capacity || flush(&writer)
          || isAsked(toReopen: lines) && reopen(&writer)
      else {
        if !writer.isLosing {
          log.write(
            .error, "audit lines are being lost: too many are already waiting", ["file": path ?? "stdout"])
        }
        writer.isLosing = true
        return false
      }
      let span = lines.span
      var start = 0
      while start < span.count {
        var end = start
        while span[end] != UInt8(ascii: "\n") { end += 1 }
        take(span.extracting(start..<end), &writer)
        start = end + 1
      }
      if flush(&writer) { writer.isLosing = false }
      return true
    }
  }

  private func take(_ line: Span<UInt8>, _ writer: inout Writer) {
    switch AuditMark(line) {
    case .wake: break
    case .anchor(.reopen):
      _ = flush(&writer)
      _ = reopen(&writer)
      anchor(.reopen, &writer)
    case .anchor(let event): anchor(event, &writer)
    case .loss(let count):
      writer.lost += count
      anchor(.lost, &writer)
      log.write(
        .warning, "audit lines were lost: they could not be written in time",
        ["lost": count, "file": path ?? "stdout"])
    case nil:
      guard writer.chain != nil else {
        writer.bytes.append(contentsOf: line)
        return writer.bytes.append(UInt8(ascii: "\n"))
      }
      let start = writer.bytes.count
      // Without the last brace.
      writer.bytes.append(contentsOf: line.extracting(..<(line.count - 1)))
      writer.chain?.end(&writer.bytes, from: start)
      if writer.chain?.linesInEpoch ?? 0 >= AuditChain.longestEpoch { anchor(.lines, &writer) }
    }
  }

  private func anchor(_ event: AuditAnchor.Event, _ writer: inout Writer) {
    guard let boot = writer.chain?.boot, let epoch = writer.chain?.epoch, let last = writer.chain?.last else {
      return
    }
    var anchor = AuditAnchor(event, boot: boot, epoch: epoch)
    (anchor.after, anchor.lost) = (last, writer.lost)
    writer.lost = 0
    Self.append(anchor, to: &writer, at: clock.unixTime)
  }

  private static func append(_ anchor: AuditAnchor, to writer: inout Writer, at time: UnixTime) {
    let start = writer.bytes.count
    anchor.append(to: &writer.bytes, time: time)
    writer.chain?.end(&writer.bytes, from: start)
    if let sequence = writer.chain?.sequence, let code = writer.chain?.last {
      writer.anchor = RecordedAnchor(boot: anchor.boot, sequence: sequence, code: code)
    }
    writer.chain?.evolve()
  }

  /// Writes the waiting bytes. Returns false if some remain.
  private func flush(_ writer: inout Writer) -> Bool {
    guard writer.written < writer.bytes.count else { return true }
    writer.isSynced = false
    if let output {
      writer.written += output(writer.written == 0 ? writer.bytes : Array(writer.bytes[writer.written...]))
      guard writer.written == writer.bytes.count else {
        fails("standard output accepts no data")
        return false
      }
    } else {
      let (count, error) = writer.file?.append(writer.bytes, from: writer.written) ?? (0, nil)
      writer.written += count
      if let error {
        fails("\(error)")
        return false
      }
    }
    writer.bytes.removeAll(keepingCapacity: writer.bytes.count <= 1 << 20)
    writer.written = 0
    return true
  }

  /// Ends a batch. In strict mode, first syncs its lines to the disk, then releases the responses that wait
  /// for them. An anchor is synced before the store may record it.
  private func ended(_ number: UInt64) {
    let result = writer.withLock { writer -> Bool? in
      guard flush(&writer) else { return nil }
      guard !writer.isSynced, isRequired || writer.anchor != nil else { return true }
      do throws(SystemError) { try writer.file?.sync() } catch {
        fails("\(error)")
        return false
      }
      writer.isSynced = true
      if writer.file?.isRemoved == true {
        fails("the file was removed")
        if reopen(&writer) {
          anchor(.reopen, &writer)
          _ = flush(&writer)
        }
        return false
      }
      if let anchor = writer.anchor { anchored.withLock { $0 = anchor } }
      writer.anchor = nil
      return true
    }
    guard let isRecorded = result else { return }
    if isRecorded, failing.exchange(false, ordering: .relaxed) {
      log.write(.info, "audit lines are written again")
    }
    let ready = waiting.withLock { waiting in
      // After a failed sync the kernel may report one success, although it dropped the data it could not
      // write.
      if !isRecorded { waiting.doubtful = max(waiting.doubtful, number) }
      waiting.recorded = max(waiting.recorded, number)
      let ready = waiting.entries.filter { $0.value.number <= number }
      for id in ready.keys { waiting.entries[id] = nil }
      return ready.values
    }
    let lost = lostLines
    for entry in ready { entry.body(isRecorded && entry.lost == lost || refused()) }
  }

  private func fails(_ cause: String) {
    guard !failing.exchange(true, ordering: .relaxed) else { return }
    hits.store(0, ordering: .relaxed)
    lostBefore.store(lostLines, ordering: .relaxed)
    log.write(
      .error,
      isRequired
        ? "audit lines cannot be written; requests that need one get 503"
        : "audit lines cannot be written; they wait",
      ["cause": cause, "file": path ?? "stdout"])
  }

  /// Whether these lines, which find no room, or lines lost before them contain the mark that reopens the
  /// file.
  private func isAsked(toReopen lines: [UInt8]) -> Bool {
    reopens.exchange(false, ordering: .acquiring) || lines.firstRange(of: AuditMark.anchor(.reopen)) != nil
  }

  /// Replaces the file with the one that now has its path. Returns false if that file cannot be opened or
  /// ends in the middle of a line, if the old file cannot be synced, or if the waiting lines could not be
  /// written.
  private func reopen(_ writer: inout Writer) -> Bool {
    guard let path else { return false }
    do throws(SystemError) {
      let file = try AppendedFile(path: path, onDisk: isRequired)
      // A reload without a rename: a partly written line continues in the same file.
      if writer.file?.isSame(as: file) == true { return flush(&writer) }
      // Only a start anchor records a torn line, so another file with a torn end is refused.
      let tail = try file.tail(limit: 1)
      guard tail.isEmpty || tail.last == UInt8(ascii: "\n") else {
        throw SystemError(operation: "it ends in the middle of a line: move it away", code: 0)
      }
      if !flush(&writer) {
        // The old file is full, so the new one gets the partly written line from its beginning.
        let cut = writer.bytes[..<writer.written].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        writer.written = cut
      }
      try writer.file?.sync()
      writer.file = consume file
      return flush(&writer)
    } catch {
      log.write(
        .error, "could not reopen the audit file; still writing to the old one", ["error.message": "\(error)"]
      )
      return false
    }
  }
}

/// The end of an audit file that already exists.
private struct FileEnd {
  /// The code of the last line that has one; empty if there is none.
  private(set) var code: [UInt8] = []
  /// The digest of everything after that line: the part of a line that a crash left, or several parts, if the
  /// next start crashed in its own first line. Empty if nothing follows.
  let torn: [UInt8]
  /// Whether the last line lacks its line feed.
  let isOpen: Bool

  init(_ tail: [UInt8]) {
    isOpen = !tail.isEmpty && tail.last != UInt8(ascii: "\n")
    let lines = isOpen ? tail + [UInt8(ascii: "\n")] : tail
    var end = lines.count
    while end > 0 {
      let start = lines[..<(end - 1)].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
      if let parts = AuditLineForm.parts(of: AuditLineForm.withoutZeros(lines[start..<end]).span) {
        code = parts.code
        break
      }
      end = start
    }
    torn = end < lines.count ? AuditAnchor.digest(ofTorn: Array(lines[end...].dropLast())) : []
  }
}

/// A command to the writing thread, sent as a line through the sink. Audit lines begin with `{`, commands
/// never do.
private enum AuditMark {
  /// Writes the lines that already wait.
  case wake
  case anchor(AuditAnchor.Event)
  case loss(Int)

  static let begin = Array("#begin\n".utf8)
  static func anchor(_ event: AuditAnchor.Event) -> [UInt8] { Array("#\(event.rawValue)\n".utf8) }
  static func loss(_ count: Int) -> [UInt8] { Array("-\(count)\n".utf8) }

  init?(_ line: Span<UInt8>) {
    guard line.count > 1, line[0] != UInt8(ascii: "{") else { return nil }
    let text = unsafe line.withUnsafeBufferPointer { unsafe String(decoding: $0.dropFirst(), as: UTF8.self) }
    if text == "begin" {
      self = .wake
    } else if line[0] == UInt8(ascii: "#"), let event = AuditAnchor.Event(rawValue: text) {
      self = .anchor(event)
    } else if line[0] == UInt8(ascii: "-"), let count = Int(text) {
      self = .loss(count)
    } else {
      return nil
    }
  }
}
