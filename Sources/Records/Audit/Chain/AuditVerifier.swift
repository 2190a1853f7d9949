// Checks audit files line by line, and finds the first line that does not fit its chain.

import JOSE
import JSON
package import Sealing

/// Reads the lines of audit files in order, and reports whether any was changed, removed, added or moved.
///
/// The verifier continues after the first line that does not fit: later lines tell whether that line is
/// missing, moved, or has a foreign key.
package final class AuditVerifier {
  /// A line of a file.
  package struct Place: Hashable, Sendable, CustomStringConvertible {
    package let file: String
    /// The line's number in the file, from 1.
    package let line: Int

    package init(file: String, line: Int) {
      self.file = file
      self.line = line
    }

    package var description: String { "\(file):\(line)" }
  }

  /// What is wrong with the first line that does not fit.
  package enum Fault: Hashable, Sendable {
    case altered, foreign
    /// This line or the next one was altered. They begin a file, so no line before them shows which.
    case alteredAtHead
    case missing(from: Int64, through: Int64)
    case doubled, reordered
    /// Lines are missing: this start of the server does not follow the line before it.
    case missingBeforeStart
    /// The store has a later anchor of a boot than the files.
    case cutTail(boot: String, through: Int64)
    /// The store has a start that followed this line in its file, but the files do not.
    case cutStart(boot: String)
    /// The store has another code for the line with this number.
    case contradicted
  }

  /// The first line that does not fit.
  package struct Finding: Hashable, Sendable {
    package let place: Place
    package internal(set) var fault: Fault
  }

  /// An observation that is not tampering, but worth knowing.
  package enum Note: Hashable, Sendable {
    case cutHead(Place, isChecked: Bool)
    case tornEnd(Place)
    case lost(Place, Int)
    case unclosed(boot: String, last: Place)
    /// The store has starts that have no line in the files.
    case absent(count: Int, boot: String)
    /// The files have a start that the store does not have.
    case unknown(boot: String, last: Place)
    /// Log lines are among the chained ones.
    case logLines(Int)
  }

  /// The last anchor of a boot's chain in the store.
  package struct Known: Sendable {
    let sequence: Int64
    let code: [UInt8]
    /// The code of the line that the boot's first line followed in its file. Empty if the file contained no
    /// line with a code, or if the chain went to standard output.
    let follows: [UInt8]

    package init(sequence: Int64, code: [UInt8], follows: [UInt8] = []) {
      self.sequence = sequence
      self.code = code
      self.follows = follows
    }
  }

  /// The result of checking all files.
  package enum Verdict: Hashable, Sendable {
    case sound
    case tampered(Finding)
    /// No line fits a chain with one of the keys.
    case unknownKey
  }

  /// One boot's chain, as far as it was read.
  private final class Run {
    let boot: String
    var chain: AuditChain
    var isClosed = false
    /// Whether the chain was written to its own file rather than to standard output; nil if unknown.
    var isOfFile: Bool?
    /// The first log line in a file with this run's lines.
    var log: Place?
    var last: Place

    init(_ boot: String, _ chain: consuming AuditChain, _ last: Place) {
      self.boot = boot
      self.chain = chain
      self.last = last
    }
  }

  private struct HeadLine {
    let place: Place
    let bytes: [UInt8]
    let parts: AuditLineForm.Parts
  }

  /// The maximum size of a line in bytes; a longer line is foreign.
  package static let longestLine = AuditLineForm.longest
  /// Minimum number of recent codes stored to detect duplicate lines.
  private static let memory = 2 * AuditChain.longestEpoch

  private let keys: [StoreKey]
  private let known: [String: Known]
  /// The boots in the store, by the code of the line that each followed.
  private let followers: [[UInt8]: [String]]
  /// The lines that a boot followed, according to the store.
  private var followed: [(boot: String, place: Place)] = []
  private var logLines = 0
  /// The first log line in this file.
  private var log: Place?
  private var runs: [Run] = []
  /// The boots of `runs`.
  private var knownBoots: Set<String> = []
  /// The run of the last line that fitted.
  private var current: Run?
  /// The other runs, by the number of the next line of each. Searching all of them for each line would take
  /// quadratic time.
  private var waiting: [Int64: [Run]] = [:]
  /// Runs that follow anchors none of the keys made. Only the last ones are stored, because anybody can write
  /// such anchors.
  private var doubtful: [Run] = []
  private static let mostDoubtful = 16
  /// The maximum number of runs tried for one line. Fewer servers than this write to one file and are at the
  /// same number at once.
  private static let mostTried = 64
  /// Hashes computed to derive the keys of anchors. Once something is wrong, anchors beyond the limit stay
  /// unchecked: otherwise an attacker who writes lines could make each one cost millions of hashes.
  package private(set) var hashes: Int64 = 0
  private let mostHashes: Int64
  /// Lines before the first anchor of a file. Their chain is not known yet.
  private var head: [HeadLine] = []
  private var fitsInFile = false
  /// True until a line fits other than the `reopen` anchors with which a rotated file begins. Until then,
  /// older files may contain the beginnings of the chains.
  private var isFirst = true
  /// The first of the unchained lines just read. The lines are torn if the anchor after them has their
  /// digest.
  private var odd: Place?
  /// The bytes of the unchained lines just read.
  private var part: [UInt8] = []
  /// Whether a line of this file was read.
  private var hasLine = false
  private var codes: [[UInt8]] = []
  private var recent: Set<[UInt8]> = []
  /// The number of lines so far that fit their chain.
  package private(set) var fitting = 0
  package private(set) var notes: [Note] = []
  private var finding: Finding?
  private var expecting: Run?

  /// Creates a verifier for chains that were made with these keys.
  /// - Parameters:
  ///   - known: Each boot's last anchor in the store, read before the files, which may grow meanwhile.
  ///   - mostHashes: The maximum number of `hashes` once something is wrong.
  package init(
    keys: [StoreKey], known: [String: Known] = [:], mostHashes: Int64 = 1_000_000
  ) {
    self.keys = keys
    self.known = known
    self.mostHashes = mostHashes
    followers = Dictionary(grouping: known.filter { !$0.value.follows.isEmpty }, by: \.value.follows)
      .mapValues { $0.map(\.key) }
  }

  /// The number of boots whose lines fit.
  package var boots: Int { runs.count }

  /// Begins a file. Pass the files of one chain in its order.
  package func begin() {
    head = []
    fitsInFile = false
    isFirst = fitting == 0
    hasLine = false
    log = nil
  }

  /// Checks a line, with its line feed if it has one.
  package func read(_ line: [UInt8], at place: Place) {
    defer { hasLine = true }
    let line = AuditLineForm.withoutZeros(line[...])
    if isOfLog(line) {
      logLines += 1
      if log == nil { log = place }
      guard fitsInFile, let current else { return }
      if current.log == nil { current.log = place }
      guard current.isOfFile == true else { return }
      // The log is not written to this file, so the line was inserted.
      settleOdd()
      return fail(place, .foreign)
    }
    guard line.last == UInt8(ascii: "\n") else {
      let whole = line + [UInt8(ascii: "\n")]
      guard AuditLineForm.parts(of: whole.span) == nil else {
        notes.append(.tornEnd(place))
        return read(whole, at: place)
      }
      // A line that is too long was cut by the reader, not by a crash.
      guard line.count < Self.longestLine, Self.canBeTorn(line) else {
        settleOdd()
        return fail(place, .foreign)
      }
      // The torn line may be the start anchor that would have explained the unchained lines before it.
      notes.append(.tornEnd(odd ?? place))
      (odd, part) = (nil, [])
      return
    }
    guard let parts = AuditLineForm.parts(of: line.span) else {
      if odd == nil { odd = place }
      guard Self.canBeTorn(Array(line.dropLast())), part.count < 2 * Self.longestLine else {
        return settleOdd()
      }
      part += line
      return
    }
    let anchor = line.starts(with: AuditLineForm.anchorStart) ? AuditAnchor(reading: line) : nil
    if let anchor, anchor.event == .start, parts.number == 1 {
      begin(anchor, line, parts, place)
    } else {
      settleOdd()
      follow(anchor, line, parts, place)
    }
    remember(parts.code)
  }

  /// Ends a file.
  package func end() {
    settleOdd()
    settleHead(before: nil)
  }

  /// The verdict on all files.
  package func verdict() -> Verdict {
    if fitting == 0 { return .unknownKey }
    if let finding { return .tampered(finding) }
    for run in runs {
      guard let known = known[run.boot], run.chain.sequence < known.sequence else { continue }
      return .tampered(Finding(place: run.last, fault: .cutTail(boot: run.boot, through: known.sequence)))
    }
    if let (boot, place) = followed.first(where: { !isKnown($0.boot) }) {
      return .tampered(Finding(place: place, fault: .cutStart(boot: boot)))
    }
    for run in runs where !known.isEmpty && known[run.boot] == nil {
      notes.append(.unknown(boot: run.boot, last: run.last))
    }
    for run in runs where !run.isClosed { notes.append(.unclosed(boot: run.boot, last: run.last)) }
    let absent = Set(known.keys).subtracting(runs.map(\.boot)).sorted()
    if let boot = absent.first { notes.append(.absent(count: absent.count, boot: boot)) }
    if logLines > 0 { notes.append(.logLines(logLines)) }
    return .sound
  }

  private static let logLine = Array(#"{"log":"log","#.utf8)
  private static let greeting = Array("callgate: ".utf8)

  /// Whether every reader would see a log line here. Some readers end a line at a carriage return, or use the
  /// last of two `log` members.
  private func isOfLog(_ line: [UInt8]) -> Bool {
    let isGreeting = line.starts(with: Self.greeting)
    guard isGreeting || line.starts(with: Self.logLine), line.dropLast().allSatisfy({ $0 >= 0x20 }) else {
      return false
    }
    return isGreeting || Self.isJSON(line)
  }

  /// Whether a crash can have left this part of a line. Complete JSON is refused: readers would take it for
  /// an audit line.
  private static func canBeTorn(_ part: [UInt8]) -> Bool {
    part.allSatisfy { $0 >= 0x20 } && !Self.isJSON(part)
  }

  private static func isJSON(_ text: [UInt8]) -> Bool {
    do throws(JSONError) { _ = try JSONValue(parsing: text) } catch { return false }
    return true
  }

  // MARK: Runs

  /// Starts the run of a new boot.
  private func begin(_ anchor: AuditAnchor, _ line: [UInt8], _ parts: AuditLineForm.Parts, _ place: Place) {
    let isAfterPart = closesPart(anchor)
    settleOdd()
    // A boot starts only once, so this line is a copy.
    guard !isKnown(anchor.boot) else { return fail(place, .doubled) }
    guard let run = run(anchor, line, parts, place, after: [UInt8](repeating: 0, count: AuditChain.byteCount))
    else { return }
    run.isOfFile = anchor.follows != nil
    if let code = anchor.follows {
      let follows = isAfterPart && (code.isEmpty ? !fitsInFile : recent.contains(code))
      if !follows, isFirst, !hasLine {
        notes.append(.cutHead(place, isChecked: true))
      } else if !follows {
        fail(place, .missingBeforeStart)
      }
    } else if fitsInFile, current?.isOfFile == true {
      fail(place, .missingBeforeStart)
    }
    settleHead(before: nil)
    accepted(run, anchor, place)
  }

  /// Checks a line that is not a start anchor.
  private func follow(_ anchor: AuditAnchor?, _ line: [UInt8], _ parts: AuditLineForm.Parts, _ place: Place) {
    if let run = run(accepting: line, parts) {
      // The expected line came after all. So nothing is missing: a line was moved, or a foreign one inserted.
      if run === expecting, case .missing = finding?.fault { finding?.fault = .reordered }
      if run === expecting, case .altered = finding?.fault { finding?.fault = .foreign }
      settleHead(before: nil)
      return accepted(run, anchor, place)
    }
    if let anchor, !isKnown(anchor.boot) {
      guard let run = run(anchor, line, parts, place, after: anchor.after) else { return }
      // A chain begins with its start anchor, unless it began before the first file.
      if runs.count > 1, anchor.event != .reopen || !head.isEmpty || !isFirst {
        let first = head.first?.parts.number ?? parts.number
        fail(head.first?.place ?? place, .missing(from: 1, through: first - 1))
      }
      if head.isEmpty {
        if finding == nil { notes.append(.cutHead(place, isChecked: true)) }
      } else {
        isFirst = false
        settleHead(before: (anchor, run, parts))
      }
      return accepted(run, anchor, place)
    }
    if !fitsInFile, head.count <= AuditChain.longestEpoch {
      return head.append(HeadLine(place: place, bytes: line, parts: parts))
    }
    misfit(parts, place)
  }

  private func accepted(_ run: Run, _ anchor: AuditAnchor?, _ place: Place) {
    fitting += 1
    // A reload also writes `reopen` anchors in the middle of a file.
    if anchor?.event != .reopen { isFirst = false }
    fitsInFile = true
    makeCurrent(run)
    run.last = place
    if let known = known[run.boot], known.sequence == run.chain.sequence, known.code != run.chain.last {
      fail(place, .contradicted)
    }
    for boot in followers[run.chain.last] ?? [] { followed.append((boot, place)) }
    if anchor?.event == .reopen { run.isOfFile = true }
    if run.log == nil { run.log = log }
    // The log is not written to this file, so its lines were inserted.
    if run.isOfFile == true, let log = run.log { fail(log, .foreign) }
    guard let anchor else { return }
    if anchor.lost > 0 { notes.append(.lost(place, anchor.lost)) }
    run.isClosed = anchor.event == .end
    run.chain.evolve()
  }

  /// Finds the run that a line continues, the latest first; nil if the line fits none.
  private func run(accepting line: [UInt8], _ parts: AuditLineForm.Parts) -> Run? {
    func accepts(_ run: Run) -> Bool {
      run.chain.sequence + 1 == parts.number
        && run.chain.accepts(
          line.span.extracting(..<parts.contentCount), number: parts.number, code: parts.code)
    }
    if let current, accepts(current) { return current }
    if let candidates = waiting[parts.number] {
      for index in candidates.indices.suffix(Self.mostTried).reversed() where accepts(candidates[index]) {
        waiting[parts.number]?.remove(at: index)
        if candidates.count == 1 { waiting[parts.number] = nil }
        return candidates[index]
      }
    }
    guard let index = doubtful.lastIndex(where: accepts) else { return nil }
    let run = doubtful.remove(at: index)
    add(run)
    return run
  }

  private func add(_ run: Run) {
    runs.append(run)
    knownBoots.insert(run.boot)
  }

  private func makeCurrent(_ run: Run) {
    guard run !== current else { return }
    if let current { waiting[current.chain.sequence + 1, default: []].append(current) }
    current = run
  }

  /// Starts a run at an anchor, with the key that made it. Nil if none of the keys made it, or if the check
  /// would cost too many hashes.
  private func run(
    _ anchor: AuditAnchor, _ line: [UInt8], _ parts: AuditLineForm.Parts, _ place: Place, after code: [UInt8]
  ) -> Run? {
    var chains: [Run] = []
    let epoch = Int64(anchor.epoch)
    // Each epoch ends with a numbered anchor, so the epoch of an anchor is below its number.
    if epoch < parts.number, finding == nil || hashes + epoch <= mostHashes {
      hashes += epoch
      for key in keys {
        let run = Run(
          anchor.boot,
          AuditChain(key, boot: anchor.boot, epoch: anchor.epoch, sequence: parts.number - 1, last: code),
          place)
        guard
          run.chain.accepts(
            line.span.extracting(..<parts.contentCount), number: parts.number, code: parts.code)
        else {
          chains.append(run)
          continue
        }
        add(run)
        return run
      }
    }
    distrust(chains, parts, place)
    return nil
  }

  /// Handles an anchor that none of the keys made, or that was not checked. If later lines fit its chain, the
  /// anchor is altered; otherwise its key is unknown.
  private func distrust(_ chains: [Run], _ parts: AuditLineForm.Parts, _ place: Place) {
    settleHead(before: nil)
    fail(place, .foreign)
    for run in chains { run.chain.skip(to: parts.number, last: parts.code) }
    doubtful = (doubtful + chains).suffix(Self.mostDoubtful)
  }

  private func isKnown(_ boot: String) -> Bool { knownBoots.contains(boot) }

  // MARK: Lines that do not fit

  /// Checks the lines before the first anchor of a file against the anchor's chain. The first of them cannot
  /// be checked itself. Without an anchor, reports a gap before the lines, or reports them as foreign.
  private func settleHead(before anchor: (AuditAnchor, Run, AuditLineForm.Parts)?) {
    guard let first = head.first else { return }
    defer { head = [] }
    guard let (anchor, run, parts) = anchor else {
      // The lines continue a chain of the previous file after a gap.
      guard let current, !current.isClosed, first.parts.number > current.chain.sequence + 1 else {
        return fail(first.place, .foreign)
      }
      return fail(
        first.place, .missing(from: current.chain.sequence + 1, through: first.parts.number - 1))
    }
    // Only a start anchor has number 1.
    guard first.parts.number > 1 else { return fail(first.place, .altered) }
    var fits = 0
    for key in keys {
      let (count, isWhole) = fit(from: 0, key, run, anchor)
      fits = max(fits, count)
      if isWhole {
        // Only the number of the first line can be wrong, because no code covers it here.
        let next = head.count > 1 ? head[1].parts.number : parts.number
        guard first.parts.number + 1 == next else { return fail(first.place, .altered) }
        fitting += count
        return notes.append(.cutHead(first.place, isChecked: false))
      }
      if head.count > 1, fit(from: 1, key, run, anchor).isWhole {
        return fail(first.place, .alteredAtHead)
      }
    }
    fail(head.count > fits + 1 ? head[fits + 1].place : first.place, .altered)
  }

  /// Counts the lines of the head after `index` that fit, and tells whether all of them do up to the anchor.
  private func fit(
    from index: Int, _ key: StoreKey, _ run: Run, _ anchor: AuditAnchor
  ) -> (count: Int, isWhole: Bool) {
    var chain = AuditChain(
      key, boot: run.boot, epoch: anchor.epoch, sequence: head[index].parts.number,
      last: head[index].parts.code)
    for (count, line) in head[(index + 1)...].enumerated() {
      let fits = chain.accepts(
        line.bytes.span.extracting(..<line.parts.contentCount), number: line.parts.number,
        code: line.parts.code)
      guard fits else { return (count, false) }
    }
    return (head.count - index - 1, chain.last == anchor.after)
  }

  /// Whether an anchor has no digest of torn lines, or has the digest of the unchained lines before it. In
  /// the second case, these lines are torn.
  private func closesPart(_ anchor: AuditAnchor) -> Bool {
    guard !anchor.torn.isEmpty else { return true }
    guard let place = odd, anchor.torn == AuditAnchor.digest(ofTorn: Array(part.dropLast())) else {
      return false
    }
    notes.append(.tornEnd(place))
    (odd, part) = (nil, [])
    return true
  }

  /// Reports unchained lines that a crash of the server does not explain.
  private func settleOdd() {
    guard let place = odd else { return }
    (odd, part) = (nil, [])
    fail(place, head.isEmpty && current != nil ? .altered : .foreign)
  }

  private func misfit(_ parts: AuditLineForm.Parts, _ place: Place) {
    guard let current, finding == nil else { return fail(place, .foreign) }
    let expected = current.chain.sequence + 1
    expecting = current
    if parts.number == expected {
      fail(place, .altered)
    } else if recent.contains(parts.code) {
      fail(place, .doubled)
    } else if parts.number > expected {
      fail(place, .missing(from: expected, through: parts.number - 1))
    } else {
      fail(place, .foreign)
    }
  }

  private func fail(_ place: Place, _ fault: Fault) {
    if finding == nil { finding = Finding(place: place, fault: fault) }
  }

  private func remember(_ code: [UInt8]) {
    recent.insert(code)
    codes.append(code)
    guard codes.count == 2 * Self.memory else { return }
    codes.removeFirst(Self.memory)
    recent = Set(codes)
  }
}
