// Tests of the audit chain: how it is written, and that no line can be altered, removed, added or moved unseen.

import Foundation
import JOSE
import JSON
import Platform
import Sealing
import Synchronization
import TestSupport
import Testing

@testable import Records

/// A server's audit lines, as its trail writes them.
private final class Written: Sendable {
  let bytes = Mutex<[UInt8]>([])
  let isFull = Mutex(false)
  /// How many more bytes the output accepts; nil for no limit.
  let room = Mutex<Int?>(nil)
  let trail: AuditTrail

  init(
    _ key: StoreKey?, boot: String = "0011223344556677", isRequired: Bool = false, log: Log = .silent,
    capacity: Int = 1 << 20
  ) throws {
    let box = Mutex<Written?>(nil)
    let holder = Holder()
    trail = try AuditTrail(
      to: .output { lines in holder.take(lines) }, key: key, boot: boot, isRequired: isRequired, lanes: 1,
      clock: SystemClock(), log: log, capacity: capacity)
    box.withLock { $0 = nil }
    holder.target.withLock { $0 = self }
    trail.start()
  }

  final class Holder: Sendable {
    let target = Mutex<Written?>(nil)
    func take(_ lines: [UInt8]) -> Int {
      target.withLock { written in
        guard let written, !written.isFull.withLock({ $0 }) else { return 0 }
        // Only whole lines are written, as far as there is room.
        let room = written.room.withLock { $0 } ?? lines.count
        let taken = lines.prefix(room).lastIndex(of: 0x0A).map { lines[...$0] } ?? []
        written.room.withLock { $0? -= taken.count }
        written.bytes.withLock { $0 += taken }
        return taken.count
      }
    }
  }

  func audit(_ numbers: Range<Int>) {
    for number in numbers {
      trail.sink.append(
        Array(#"{"log":"audit","action":"access","n":\#(number),"decision":"allow"}"#.utf8) + [0x0A], lane: 0)
    }
  }

  /// Ends the trail. Each line has its line feed.
  func lines() -> [[UInt8]] {
    #expect(trail.close(within: .seconds(10)))
    return bytes.withLock { $0.lines }
  }
}

extension Log {
  fileprivate static let silent = Log(
    sink: LogSink(lanes: 1) { _ in true }, lane: 0, level: .error, format: .json, clock: SystemClock())
}

extension [UInt8] {
  /// The lines, each with its line feed if it has one.
  fileprivate var lines: [[UInt8]] {
    var lines: [[UInt8]] = []
    var line: [UInt8] = []
    for byte in self {
      line.append(byte)
      if byte == 0x0A {
        lines.append(line)
        line = []
      }
    }
    return line.isEmpty ? lines : lines + [line]
  }
}

extension AuditVerifier {
  /// The verdict on files, and the verifier's notes.
  fileprivate static func verdict(on files: [[UInt8]]..., keys: [StoreKey]) -> (
    verdict: Verdict, notes: [Note]
  ) {
    let verifier = AuditVerifier(keys: keys)
    for (index, file) in files.enumerated() {
      verifier.begin()
      for (number, line) in file.joined().lines(whole: file).enumerated() {
        verifier.read(line, at: Place(file: "\(index)", line: number + 1))
      }
      verifier.end()
    }
    return (verifier.verdict(), verifier.notes)
  }
}

extension Sequence<UInt8> {
  /// The lines of a file.
  fileprivate func lines(whole: [[UInt8]]) -> [[UInt8]] { Array(self).lines }
}

extension AuditLineForm {
  fileprivate static func parts(ofLine line: [UInt8]) -> Parts? { parts(of: line.span) }
}

private func place(_ line: Int, file: Int = 0) -> AuditVerifier.Place { .init(file: "\(file)", line: line) }

private func finding(_ line: Int, _ fault: AuditVerifier.Fault) -> AuditVerifier.Verdict {
  .tampered(.init(place: place(line), fault: fault))
}

@Suite struct AuditChainTests {
  private let key = StoreKey(Secret([UInt8](repeating: 7, count: 32)))
  private let other = StoreKey(Secret([UInt8](repeating: 8, count: 32)))

  /// A start, three lines, a minute's anchor, three lines, the end.
  private func sample(_ key: StoreKey? = nil, boot: String = "0011223344556677") throws -> [[UInt8]] {
    let written = try Written(key ?? self.key, boot: boot)
    written.audit(0..<3)
    written.trail.anchor(.minute)
    written.audit(3..<6)
    return written.lines()
  }

  @Test
  func `each line ends with its number and a code, anchors stand at the start, each minute and the end`()
    throws
  {
    let lines = try sample()
    #expect(lines.count == 9)
    for (index, line) in lines.enumerated() {
      let text = String(decoding: line, as: UTF8.self)
      #expect(
        text.wholeMatch(
          of: try Regex(#"\{"log":"(audit|anchor)".*,"seq":\#(index + 1),"chain":"[A-Za-z0-9_-]{22}"\}\n"#))
          != nil, "\(text)")
    }
    let events = lines.compactMap { AuditAnchor(reading: $0)?.event }
    #expect(events == [.start, .minute, .end])
    #expect(AuditAnchor(reading: lines[4])?.epoch == 1)
    #expect(AuditVerifier.verdict(on: lines, keys: [key]) == (.sound, []))
    #expect(AuditVerifier.verdict(on: lines, keys: [other, key]).verdict == .sound)
    #expect(AuditVerifier.verdict(on: lines, keys: [other]).verdict == .unknownKey)
  }

  @Test(arguments: [(0, ""), (2, #","lost":2"#)])
  func `an anchor says how many lines were lost, and nothing where none were`(lost: Int, words: String) {
    var anchor = AuditAnchor(.minute, boot: "0011223344556677", epoch: 3)
    anchor.lost = lost
    let time = UnixTime(seconds: 1_795_000_000)
    var line: [UInt8] = []
    anchor.append(to: &line, time: time)
    let event = #""event":"minute","boot":"0011223344556677","epoch":3"#
    #expect(
      String(decoding: line, as: UTF8.self)
        == #"{"log":"anchor","time":"\#(time.rfc3339)",\#(event)\#(words)"#)
  }

  @Test(arguments: ["0", "01", "00001", "-1", "9223372036854775808"])
  func `a number that no line can have ends no line`(number: String) throws {
    let line = String(decoding: try sample()[0], as: UTF8.self)
    let changed = line.replacing(#","seq":1,"#, with: #","seq":\#(number),"#)
    #expect(changed != line && AuditLineForm.parts(ofLine: Array(changed.utf8)) == nil)
    #expect(AuditLineForm.parts(ofLine: Array(line.utf8))?.number == 1)
  }

  @Test func `16 MiB of lines wait, and as many can be found by their request`() {
    #expect(AuditTrail.capacity == 16_777_216 && RecentDecisions.archiveOctets == 16_777_216)
  }

  @Test func `without a key the lines are as they were`() throws {
    let written = try Written(nil)
    written.audit(0..<2)
    #expect(
      written.lines().map { String(decoding: $0, as: UTF8.self) }
        == (0..<2).map { #"{"log":"audit","action":"access","n":\#($0),"decision":"allow"}"# + "\n" })
  }

  @Test func `an anchor is known once it is written`() async throws {
    let written = try Written(key)
    #expect(await written.trail.isRecorded(since: 0))
    #expect(written.trail.lastAnchor?.sequence == 1, "the start's, before any line")
    written.isFull.withLock { $0 = true }
    written.audit(0..<2)
    written.trail.anchor(.minute)
    try await eventually { written.trail.isFailing }
    #expect(written.trail.lastAnchor?.sequence == 1)
    written.isFull.withLock { $0 = false }
    written.audit(2..<3)
    let lines = written.lines()
    let last = AuditLineForm.parts(ofLine: lines[lines.count - 1])
    #expect(
      written.trail.lastAnchor?.sequence == last?.number && written.trail.lastAnchor?.code == last?.code)
  }

  @Test func `the key changes after 4,096 lines`() throws {
    let written = try Written(key)
    written.audit(0..<5000)
    let lines = written.lines()
    #expect(lines.compactMap { AuditAnchor(reading: $0)?.event } == [.start, .lines, .end])
    #expect(AuditVerifier.verdict(on: lines, keys: [key]) == (.sound, []))
  }

  // MARK: Changes

  @Test func `every kind of change is named`() throws {
    let lines = try sample()
    var changed = lines
    changed[5][20] ^= 1
    #expect(AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(6, .altered))
    changed = lines
    changed.remove(at: 5)
    #expect(
      AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(6, .missing(from: 6, through: 6)))
    changed = lines
    changed.insert(lines[5], at: 6)
    #expect(AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(7, .doubled))
    changed = lines
    changed.swapAt(5, 6)
    #expect(AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(6, .reordered))
    changed = lines
    let foreign = try sample(other)
    changed.insert(foreign[5], at: 5)
    #expect(AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(6, .foreign))
    // A line with the same key, from another start.
    changed = lines
    changed.insert(try sample(boot: "8899aabbccddeeff")[5], at: 5)
    #expect(AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(6, .foreign))
    changed = lines
    changed.insert(Array("{\"log\":\"audit\"}\n".utf8), at: 5)
    #expect(AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(6, .altered))
    // The whole chain twice.
    #expect(AuditVerifier.verdict(on: lines + lines, keys: [key]).verdict == finding(10, .doubled))
    // The first line.
    changed = lines
    changed[0][30] ^= 1
    #expect(AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(1, .foreign))
  }

  @Test func `a chain that lacks its beginning behind another one is no cut head`() throws {
    let lines = try sample()
    let second = try sample(boot: "8899aabbccddeeff")
    // The second chain begins at an anchor in the same file, and at a line before its anchor in the next
    // file.
    #expect(
      AuditVerifier.verdict(on: lines + second[4...], keys: [key]).verdict
        == finding(10, .missing(from: 1, through: 4)))
    #expect(
      AuditVerifier.verdict(on: lines, Array(second[3...]), keys: [key]).verdict
        == .tampered(.init(place: place(1, file: 1), fault: .missing(from: 1, through: 3))))
    // A rotation's anchor begins a file, and is never in the middle of one.
    let rotated = try Written(key, boot: "8899aabbccddeeff")
    rotated.audit(0..<3)
    rotated.trail.anchor(.reopen)
    rotated.audit(3..<6)
    let third = rotated.lines()
    #expect(
      AuditVerifier.verdict(on: lines + third[4...], keys: [key]).verdict
        == finding(10, .missing(from: 1, through: 4)))
    let began = Array(third[4...])
    #expect(
      AuditVerifier.verdict(on: began, keys: [key])
        == (.sound, [.cutHead(place(1), isChecked: true)]))
    // After another file, the file with the chain's beginning is missing.
    #expect(
      AuditVerifier.verdict(on: lines, began, keys: [key]).verdict
        == .tampered(.init(place: place(1, file: 1), fault: .missing(from: 1, through: 4))))
    // Nor can a file that began with one chain's rotation contain another's.
    let reloaded = try Written(key, boot: "0f1e2d3c4b5a6978")
    reloaded.audit(0..<3)
    reloaded.trail.anchor(.reopen)
    reloaded.audit(3..<6)
    let fourth = reloaded.lines()
    #expect(
      AuditVerifier.verdict(on: began + fourth[4...], keys: [key]).verdict
        == finding(began.count + 1, .missing(from: 1, through: 4)))
    // Nor does a file begin with lines before the rotation's anchor.
    #expect(
      AuditVerifier.verdict(on: lines, Array(fourth[3...]), keys: [key]).verdict
        == .tampered(.init(place: place(1, file: 1), fault: .missing(from: 1, through: 3))))
  }

  @Test func `numbers and epochs that no server writes are refused before they are counted with`() throws {
    func line(_ number: Int64) -> [UInt8] {
      Array(#"{"log":"audit","seq":\#(number),"chain":"AAAAAAAAAAAAAAAAAAAAAA"}"#.utf8) + [0x0A]
    }
    #expect(AuditLineForm.parts(ofLine: line(.max)) == nil)
    #expect(AuditLineForm.parts(ofLine: line(Int64.max - 1))?.number == Int64.max - 1)
    let lines = try sample()
    for number: Int64 in [.max, .max - 1] {
      // At the head of a file, and within it.
      for at in [0, 5] {
        var changed = at == 0 ? Array(lines[4...]) : lines
        changed.insert(line(number), at: at)
        let (verdict, _) = AuditVerifier.verdict(on: changed, keys: [key])
        guard case .tampered = verdict else {
          Issue.record("\(number): \(verdict)")
          continue
        }
      }
    }
    func anchor(_ epoch: Int) -> [UInt8] {
      Array(#"{"log":"anchor","event":"minute","boot":"8899aabbccddeeff","epoch":\#(epoch)}"#.utf8)
    }
    #expect(AuditAnchor(reading: anchor(10_000_000))?.epoch == 10_000_000)
    #expect(AuditAnchor(reading: anchor(10_000_001)) == nil)
  }

  @Test func `forged anchors cost a limited number of hashes, however many they are and whatever they claim`()
    throws
  {
    func anchor(_ index: Int, epoch: Int, number: Int) -> [UInt8] {
      Array(
        (#"{"log":"anchor","event":"minute","boot":"ffffffff\#(10_000_000 + index)","epoch":\#(epoch)"#
          + #","after":"AAAAAAAAAAAAAAAAAAAAAA","seq":\#(number),"chain":"AAAAAAAAAAAAAAAAAAAAAA"}"#).utf8)
        + [0x0A]
    }
    func verify(_ lines: [[UInt8]]) -> AuditVerifier {
      let verifier = AuditVerifier(keys: [key, other], mostHashes: 1000)
      verifier.begin()
      for (index, line) in lines.enumerated() { verifier.read(line, at: place(index + 1)) }
      verifier.end()
      return verifier
    }
    let lines = try sample()
    // A second forged anchor would exceed the limit.
    let forged = (0..<500).map { anchor($0, epoch: 600, number: 5000) }
    let verifier = verify(lines + forged)
    #expect(verifier.hashes == 600)
    #expect(verifier.verdict() == .tampered(.init(place: place(lines.count + 1), fault: .foreign)))
    #expect(verifier.fitting == lines.count && verifier.boots == 1)
    // Each epoch begins with an anchor, which has a number.
    #expect(verify(lines + [anchor(0, epoch: 600, number: 600)]).hashes == 0)
    #expect(verify(lines + [anchor(0, epoch: 599, number: 600)]).hashes == 599)
    // The lines of the real chain are recognized among the forged ones.
    let mixed = verify(zip(lines, forged).flatMap { [$0, $1] })
    #expect(mixed.fitting == lines.count && mixed.hashes == 600)
  }

  @Test func `a line longer than any server's is foreign, and one octet less is a torn end`() throws {
    let lines = try sample()
    let long = [UInt8](repeating: UInt8(ascii: "x"), count: AuditVerifier.longestLine)
    #expect(AuditVerifier.verdict(on: lines + [long], keys: [key]).verdict == finding(10, .foreign))
    let (verdict, notes) = AuditVerifier.verdict(on: lines + [Array(long.dropLast())], keys: [key])
    #expect(verdict == .sound)
    #expect(notes == [.tornEnd(place(10))])
  }

  /// CALLGATE_ALTERATIONS sets the number, if there is time for more.
  @Test func `thousands of random alterations are found, and the first line is named`() throws {
    let rounds = ProcessInfo.processInfo.environment["CALLGATE_ALTERATIONS"].flatMap { Int($0) } ?? 3000
    let lines = try sample()
    let others = [try sample(other), try sample(boot: "8899aabbccddeeff")]
    var random = SeededGenerator(2026)
    var missed: [String] = []
    for round in 0..<rounds {
      var changed = lines
      let at = Int.random(in: 0..<lines.count, using: &random)
      // The first line that differs from the original, counted from 1.
      var first = at + 1
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        let octet = Int.random(in: 0..<lines[at].count, using: &random)
        let new = UInt8.random(in: 0...255, using: &random)
        guard new != changed[at][octet] else { continue }
        changed[at][octet] = new
      case 1:
        changed[at].remove(at: Int.random(in: 0..<lines[at].count, using: &random))
      case 2:
        let octet = UInt8.random(in: 0...255, using: &random)
        let index = Int.random(in: 0..<lines[at].count, using: &random)
        changed[at].insert(octet, at: index)
        // Before the same octet it is the same as after it.
        if octet == 0x0A, index == 0 { first = at + 1 }
      case 3:
        changed.remove(at: at)
      case 4:
        // Inserts a repeated line, or a line of another start with the same key, which is complete but not
        // part of this chain.
        changed.insert(at.isMultiple(of: 2) ? lines[at] : others[at == 0 ? 0 : round % 2][at], at: at)
        if at.isMultiple(of: 2) { first = at + 2 }
      default:
        let with = Int.random(in: 0..<lines.count, using: &random)
        guard with != at else { continue }
        changed.swapAt(at, with)
        first = min(at, with) + 1
        // An anchor is valid on its own, so at the head of a file the line after it is the first that does
        // not fit.
        if min(at, with) == 0, [4, 8].contains(max(at, with)) { first = 2 }
      }
      let (verdict, notes) = AuditVerifier.verdict(on: changed, keys: [key])
      switch verdict {
      case .tampered(let finding) where finding.place.line == first: continue
      // Without its first lines a file looks like after a rotation, and without its last lines like after a
      // kill. The verifier notes both.
      case .sound where first >= lines.count && !notes.isEmpty: continue
      case .sound where first == 1 && notes.contains { if case .cutHead = $0 { true } else { false } }:
        continue
      default: missed.append("round \(round): line \(first): \(verdict) \(notes)")
      }
    }
    #expect(missed.isEmpty, "\(missed.count): \(missed.prefix(5))")
  }

  // MARK: Damage that is not tampering

  @Test func `a cut head is told, and the line that cannot be checked is named`() throws {
    let lines = try sample()
    for cut in 1..<lines.count {
      let (verdict, notes) = AuditVerifier.verdict(on: Array(lines[cut...]), keys: [key])
      #expect(verdict == .sound, "\(cut)")
      let isAnchor = cut == 4 || cut == 8
      #expect(notes == [.cutHead(place(1), isChecked: isAnchor)], "\(cut)")
    }
    var changed = Array(lines[2...])
    changed[1][20] ^= 1
    #expect(AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(1, .alteredAtHead))
  }

  @Test func `a file that is cut at any octet of its end is told from tampering`() throws {
    let all = Array(try sample().joined())
    for end in 1..<all.count {
      let lines = Array(all[..<end]).lines
      let (verdict, notes) = AuditVerifier.verdict(on: lines, keys: [key])
      // The chain is unknown until its first line is complete.
      guard lines[0].last == 0x0A else { continue }
      #expect(verdict == .sound, "\(end)")
      // In the last step, only the line feed of the closing anchor is missing.
      let isOpen = notes.contains { if case .unclosed = $0 { true } else { false } }
      #expect(isOpen == (end < all.count - 1), "\(end)")
      let isTorn = all[end - 1] != 0x0A
      #expect(notes.contains { if case .tornEnd = $0 { true } else { false } } == isTorn, "\(end)")
    }
  }

  @Test func `the store's anchors show a cut tail, a chain that was written anew, and absent starts`() throws
  {
    let lines = try sample()
    let last = try #require(AuditLineForm.parts(ofLine: lines[8]))
    func verdict(_ lines: [[UInt8]], _ boot: String, _ known: AuditVerifier.Known) -> (
      AuditVerifier.Verdict, [AuditVerifier.Note]
    ) {
      let verifier = AuditVerifier(keys: [key], known: [boot: known])
      verifier.begin()
      for (number, line) in lines.enumerated() { verifier.read(line, at: place(number + 1)) }
      verifier.end()
      return (verifier.verdict(), verifier.notes)
    }
    let boot = "0011223344556677"
    let known = AuditVerifier.Known(sequence: last.number, code: last.code)
    #expect(verdict(lines, boot, known) == (.sound, []))
    for end in 1..<9 {
      #expect(verdict(Array(lines[..<end]), boot, known).0 == finding(end, .cutTail(boot: boot, through: 9)))
    }
    // Whoever has the key can rewrite the chain, but not the anchor saved earlier in the store.
    let other = AuditVerifier.Known(sequence: last.number, code: [UInt8](repeating: 1, count: 16))
    #expect(verdict(lines, boot, other).0 == finding(9, .contradicted))
    let absent = verdict(lines, "8899aabbccddeeff", known)
    #expect(
      absent
        == (.sound, [.unknown(boot: boot, last: place(9)), .absent(count: 1, boot: "8899aabbccddeeff")]))
    // The missing chain is an error only if its first line followed one of these lines.
    let second = AuditVerifier.Known(sequence: 3, code: [], follows: last.code)
    #expect(
      verdict(lines, "8899aabbccddeeff", second).0 == finding(9, .cutStart(boot: "8899aabbccddeeff")))
  }

  @Test func `what some readers take for an audit line is no line of the log`() throws {
    let lines = try sample()
    let forged = #"{"log":"audit","action":"access","decision":"allow"}"#
    for text in [
      #"{"log":"log",\#(forged.dropFirst())"#, #"{"log":"log","l\u006fg":"audit","decision":"allow"}"#,
      #"{"log":"log","a":\#r\#(forged)\#r}"#, "callgate: x\r\(forged)", #"{"log":"log","#,
    ] {
      var changed = lines
      changed.insert(Array("\(text)\n".utf8), at: 5)
      #expect(AuditVerifier.verdict(on: changed, keys: [key]).verdict == finding(6, .altered), "\(text)")
    }
  }

  @Test func `what can be read as a line is no torn end`() throws {
    let lines = try sample()
    let forged = #"{"log":"audit","action":"access","decision":"allow"}"#
    for text in [forged, forged + "\0\0", forged + "\r{", "{\"log\":\r"] {
      let (verdict, _) = AuditVerifier.verdict(on: lines + [Array(text.utf8)], keys: [key])
      #expect(verdict == finding(10, .foreign), "\(text)")
    }
    // A line that only lacks its line feed either fits or was altered.
    var changed = lines[8]
    changed.removeLast()
    let whole = AuditVerifier.verdict(on: lines.dropLast() + [changed], keys: [key])
    #expect(whole == (.sound, [.tornEnd(place(9))]))
    changed[30] ^= 1
    #expect(
      AuditVerifier.verdict(on: lines.dropLast() + [changed], keys: [key]).verdict == finding(9, .altered))
    for text in [forged.dropLast() + "", forged.dropLast() + "\0\0", "\0\0\0"] {
      let (verdict, notes) = AuditVerifier.verdict(on: lines + [Array(text.utf8)], keys: [key])
      #expect(verdict == .sound && notes == [.tornEnd(place(10))], "\(text)")
    }
  }

  @Test func `lines of the log between chained ones are told, and a file without a chain is not whole`()
    throws
  {
    let lines = try sample()
    let log = Array("{\"log\":\"log\",\"message\":\"ready\"}\n".utf8)
    #expect(
      AuditVerifier.verdict(on: [lines[0], log] + lines[1...] + [log], keys: [key])
        == (.sound, [.logLines(2)]))
    #expect(AuditVerifier.verdict(on: [log], keys: [key]).verdict == .unknownKey)
    #expect(AuditVerifier.verdict(on: [], keys: [key]).verdict == .unknownKey)
  }

  // MARK: Writing

  @Test func `lines wait for an output that takes none, and the chain stays whole`() async throws {
    let written = try Written(key)
    written.audit(0..<3)
    written.isFull.withLock { $0 = true }
    written.audit(3..<200)
    try await eventually { written.trail.isFailing }
    written.isFull.withLock { $0 = false }
    written.audit(200..<210)
    let lines = written.lines()
    #expect(lines.count == 212 && !written.trail.isFailing)
    #expect(AuditVerifier.verdict(on: lines, keys: [key]) == (.sound, []))
  }

  @Test func `an output that takes some of the lines gets the others later, and none twice`() async throws {
    let written = try Written(key)
    written.room.withLock { $0 = 700 }
    written.audit(0..<20)
    try await eventually { written.trail.isFailing }
    written.room.withLock { $0 = nil }
    written.audit(20..<22)
    let lines = written.lines()
    #expect(lines.count { $0.starts(with: #"{"log":"audit""#.utf8) } == 22)
    #expect(AuditVerifier.verdict(on: lines, keys: [key]) == (.sound, []))
  }

  /// A log whose lines a test reads.
  private final class SavedLog: Sendable {
    let bytes = Mutex<[UInt8]>([])
    let sink: LogSink
    let log: Log

    init() {
      let box = Mutex<SavedLog?>(nil)
      let target = Target()
      sink = LogSink(lanes: 1, write: { target.write($0) })
      log = Log(sink: sink, lane: 0, level: .info, format: .json, clock: SystemClock())
      box.withLock { $0 = nil }
      target.log.withLock { $0 = self }
      sink.start { _ in [] }
    }

    final class Target: Sendable {
      let log = Mutex<SavedLog?>(nil)
      func write(_ lines: [UInt8]) -> Bool {
        log.withLock { log in log?.bytes.withLock { $0 += lines } }
        return true
      }
    }

    /// The numbers of lost lines in log messages with this beginning.
    func lost(_ message: String) -> [String] {
      #expect(sink.close(within: .seconds(10)))
      return bytes.withLock { $0.lines }.compactMap { try? JSONValue(parsing: $0) }
        .filter { $0["message"]?.string?.hasPrefix(message) == true }
        .compactMap { $0["lost"]?.int(in: 0...Int64.max).map { "\($0)" } }
    }
  }

  @Test func `audit lines that find no room are counted in the chain, and the log says how many`() throws {
    let kept = SavedLog()
    let written = try Written(key, log: kept.log, capacity: 1000)
    written.isFull.withLock { $0 = true }
    while written.trail.lostLines < 3 {
      written.audit(0..<10)
      sched_yield()
    }
    #expect(written.trail.isFailing && written.trail.linesLostInFailure >= 3)
    written.isFull.withLock { $0 = false }
    while written.trail.isFailing {
      written.audit(0..<1)
      sched_yield()
    }
    let (verdict, notes) = AuditVerifier.verdict(on: written.lines(), keys: [key])
    #expect(verdict == .sound)
    let counted = notes.compactMap { if case .lost(_, let count) = $0 { count } else { nil } }.reduce(0, +)
    let told = kept.lost("audit lines were lost").compactMap { Int($0) }.reduce(0, +)
    #expect(counted == written.trail.lostLines && told == counted)
    #expect(written.trail.unreportedLines == 0)
  }

  @Test func `audit lines that still wait at the end are lost, and the log says how many`() throws {
    let kept = SavedLog()
    let written = try Written(key, log: kept.log)
    written.isFull.withLock { $0 = true }
    written.audit(0..<5)
    #expect(written.trail.close(within: .seconds(10)))
    #expect(written.trail.lostLines == 5)
    #expect(kept.lost("audit lines were lost") == ["5"])
  }

  @Test func `a response waits until its line is written, and is refused when it is not in time`()
    async throws
  {
    let written = try Written(key, isRequired: true)
    written.audit(0..<1)
    #expect(await written.trail.isRecorded(since: written.trail.lostLines))
    // The request's own line may be among the lost ones.
    #expect(await !written.trail.isRecorded(since: written.trail.lostLines - 1))
    #expect(written.trail.unavailableResponses == 1 && !written.trail.isFailing)
    written.isFull.withLock { $0 = true }
    written.audit(1..<2)
    #expect(await !written.trail.isRecorded(since: written.trail.lostLines))
    #expect(written.trail.isFailing)
    #expect(written.trail.unavailableResponses == 2 && written.trail.hitRequests == 1)
    written.isFull.withLock { $0 = false }
    written.audit(2..<3)
    #expect(await written.trail.isRecorded(since: written.trail.lostLines))
    #expect(!written.trail.isFailing)
    #expect(AuditVerifier.verdict(on: written.lines(), keys: [key]) == (.sound, []))
  }
}

@Suite struct AuditFileTests {
  private let key = StoreKey(Secret([UInt8](repeating: 7, count: 32)))
  private let folder = FileManager.default.temporaryDirectory.appending(path: "audit-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  private var path: String { folder.appending(path: "audit.log").path }

  private func trail(_ boot: String) throws -> AuditTrail {
    let trail = try AuditTrail(
      to: .file(path), key: key, boot: boot, isRequired: true, lanes: 1, clock: SystemClock(), log: .silent)
    trail.start()
    return trail
  }

  private func write(_ trail: AuditTrail, _ count: Int) async {
    for number in 0..<count {
      trail.sink.append(Array(#"{"log":"audit","n":\#(number)}"#.utf8) + [0x0A], lane: 0)
    }
    #expect(await trail.isRecorded(since: trail.lostLines))
  }

  private func content(_ path: String) throws -> [[UInt8]] {
    let lines = Mutex<[[UInt8]]>([])
    try SystemFile.readLines(of: path, longest: AuditVerifier.longestLine) { line, _ in
      lines.withLock { $0.append(line) }
    }
    return lines.withLock(\.self)
  }

  @Test func `two starts in one file are whole, and nothing between them can go`() async throws {
    for boot in ["00000000000000aa", "00000000000000bb"] {
      let trail = try trail(boot)
      await write(trail, 3)
      #expect(trail.close(within: .seconds(10)))
    }
    let lines = try content(path)
    #expect(AuditVerifier.verdict(on: lines, keys: [key]) == (.sound, []))
    var cut = lines
    cut.remove(at: 4)
    #expect(AuditVerifier.verdict(on: cut, keys: [key]).verdict == finding(5, .missingBeforeStart))
  }

  @Test func `a start closes a torn line, and says so in its chain`() async throws {
    let first = try trail("00000000000000aa")
    await write(first, 3)
    #expect(first.close(within: .seconds(10)))
    let whole = try content(path)
    for torn in [whole[0].count + 1, Array(whole.joined()).count - 5, Array(whole.joined()).count - 1] {
      try Data(whole.joined().prefix(torn)).write(to: URL(filePath: path))
      let second = try trail("00000000000000bb")
      await write(second, 1)
      #expect(second.close(within: .seconds(10)))
      let (verdict, notes) = AuditVerifier.verdict(on: try content(path), keys: [key])
      #expect(verdict == .sound, "\(torn)")
      #expect(!notes.isEmpty || torn == Array(whole.joined()).count - 1, "\(torn)")
      // The torn part belongs to this chain, too.
      let lines = try content(path)
      let start = try #require(lines.lastIndex { AuditAnchor(reading: $0)?.event == .start })
      let part = lines[start - 1].count
      for changed in [
        Array(lines[start - 1].dropFirst(1)), lines[start - 1].dropLast(2) + [0x0A], [],
        Array(#"{"log":"audit","decision":"allow"}"#.utf8) + [0x0A],
      ] where part > 2 {
        var altered = lines
        altered.replaceSubrange(start - 1..<start, with: changed.isEmpty ? [] : [changed])
        let verdict = AuditVerifier.verdict(on: altered, keys: [key]).verdict
        guard case .tampered = verdict else {
          Issue.record("\(torn): \(String(decoding: changed, as: UTF8.self)): \(verdict)")
          continue
        }
      }
    }
  }

  @Test func `a start that was torn itself is closed by the next one`() async throws {
    let first = try trail("00000000000000aa")
    await write(first, 3)
    #expect(first.close(within: .seconds(10)))
    try Data(try content(path).joined().dropLast(30)).write(to: URL(filePath: path))
    let second = try trail("00000000000000bb")
    await write(second, 1)
    #expect(second.close(within: .seconds(10)))
    let lines = try content(path)
    let whole = AuditVerifier.verdict(on: lines, keys: [key])
    #expect(whole.verdict == .sound && whole.notes.first == .tornEnd(place(5)))
    for cut in [1, 40, lines[5].count - 1] {
      let torn = Array((lines[..<5].joined() + lines[5].prefix(cut)))
      let open = AuditVerifier.verdict(on: torn.lines, keys: [key])
      #expect(
        open.verdict == .sound && open.notes.contains(.tornEnd(place(cut < 100 ? 5 : 6))), "\(cut): \(open)")
      try Data(torn).write(to: URL(filePath: path))
      let third = try trail("00000000000000cc")
      await write(third, 1)
      #expect(third.close(within: .seconds(10)))
      let closed = try content(path)
      let found = AuditVerifier.verdict(on: closed, keys: [key])
      #expect(found.verdict == .sound && found.notes.contains(.tornEnd(place(5))), "\(cut): \(found)")
      for index in [4, 5] {
        for new in [[], [Array(closed[index].dropFirst())], [Array("{}\n".utf8), closed[index]]] {
          let altered = closed[..<index] + new + closed[(index + 1)...]
          let verdict = AuditVerifier.verdict(on: Array(altered), keys: [key]).verdict
          guard case .tampered = verdict else {
            Issue.record("\(cut), \(index): \(verdict)")
            continue
          }
        }
      }
    }
  }

  @Test func `a whole line without a code is no torn one, though the next start closes it`() async throws {
    let first = try trail("00000000000000aa")
    await write(first, 3)
    #expect(first.close(within: .seconds(10)))
    let lines = try content(path)
    for end in ["", "\n"] {
      let forged = Array((#"{"log":"audit","decision":"allow"}"# + end).utf8)
      try Data(lines.joined() + forged).write(to: URL(filePath: path))
      let second = try trail("00000000000000bb")
      await write(second, 1)
      #expect(second.close(within: .seconds(10)))
      #expect(AuditVerifier.verdict(on: try content(path), keys: [key]).verdict == finding(6, .altered))
    }
  }

  @Test func `a file that ends in the middle of a line is not taken at a rotation`() async throws {
    let first = try trail("00000000000000aa")
    await write(first, 3)
    #expect(first.close(within: .seconds(10)))
    let torn = Data(try content(path).joined().dropLast(30))
    try FileManager.default.removeItem(atPath: path)
    let second = try trail("00000000000000bb")
    await write(second, 1)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
    try torn.write(to: URL(filePath: path))
    second.reopen()
    await write(second, 1)
    #expect(second.close(within: .seconds(10)))
    #expect(try Data(contentsOf: URL(filePath: path)) == torn)
    #expect(AuditVerifier.verdict(on: try content(path + ".1"), keys: [key]) == (.sound, []))
  }

  @Test func `a line whose line feed a power cut has lost is whole`() async throws {
    let first = try trail("00000000000000aa")
    await write(first, 3)
    #expect(first.close(within: .seconds(10)))
    let lines = try content(path)
    for count in [1, 5, 1 << 20] {
      let cut = lines.joined().dropLast() + [UInt8](repeating: 0, count: count)
      try Data(cut).write(to: URL(filePath: path))
      #expect(AuditVerifier.verdict(on: try content(path), keys: [key]).verdict == .sound, "\(count)")
      let second = try trail("00000000000000bb")
      await write(second, 1)
      #expect(second.close(within: .seconds(10)))
      #expect(AuditVerifier.verdict(on: try content(path), keys: [key]) == (.sound, []), "\(count)")
    }
  }

  @Test func `zeros that a start has closed without its own line are no tampering`() async throws {
    let first = try trail("00000000000000aa")
    await write(first, 3)
    #expect(first.close(within: .seconds(10)))
    try Data(try content(path).joined() + [0, 0, 0, UInt8(ascii: "\n")]).write(to: URL(filePath: path))
    let second = try trail("00000000000000bb")
    await write(second, 1)
    #expect(second.close(within: .seconds(10)))
    #expect(AuditVerifier.verdict(on: try content(path), keys: [key]) == (.sound, [.tornEnd(place(6))]))
  }

  @Test func `the zeros of a power cut are no tampering, however many`() async throws {
    let first = try trail("00000000000000aa")
    await write(first, 3)
    #expect(first.close(within: .seconds(10)))
    let lines = try content(path)
    for (kept, count) in [(30, 1 << 20), (30, 5), (0, 1)] {
      let torn = lines.joined() + lines[1].prefix(kept) + [UInt8](repeating: 0, count: count)
      try Data(torn).write(to: URL(filePath: path))
      let open = AuditVerifier.verdict(on: try content(path), keys: [key])
      #expect(open == (.sound, [.tornEnd(place(6))]), "\(kept), \(count)")
      let second = try trail("00000000000000bb")
      await write(second, 1)
      #expect(second.close(within: .seconds(10)))
      let closed = AuditVerifier.verdict(on: try content(path), keys: [key])
      #expect(closed == (.sound, [.tornEnd(place(6))]), "\(kept), \(count)")
    }
    let hidden = lines.joined() + [0x7B] + [UInt8](repeating: 0, count: 1 << 20) + [0x7D]
    try Data(hidden).write(to: URL(filePath: path))
    #expect(AuditVerifier.verdict(on: try content(path), keys: [key]).verdict == finding(6, .foreign))
  }

  @Test func `a file that is removed counts as a failure, and the chain goes on in a new one`() async throws {
    let trail = try trail("00000000000000aa")
    await write(trail, 3)
    try FileManager.default.removeItem(atPath: path)
    trail.sink.append(Array("{\"log\":\"audit\"}\n".utf8), lane: 0)
    #expect(await !trail.isRecorded(since: trail.lostLines))
    #expect(trail.isFailing)
    await write(trail, 2)
    #expect(!trail.isFailing)
    #expect(trail.close(within: .seconds(10)))
    let lines = try content(path)
    #expect(lines.compactMap { AuditLineForm.parts(ofLine: $0)?.number } == [6, 7, 8, 9])
    let found = AuditVerifier.verdict(on: lines, keys: [key])
    #expect(found == (.sound, [.cutHead(place(1), isChecked: true)]))
  }

  @Test func `a file whose names are not counted is not removed as long as its path leads to it`()
    async throws
  {
    // As on file systems that do not count links: the link below leads to a file whose count is zero.
    let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(number) }
    unlink(path)
    let trail = try AuditTrail(
      to: .file("/proc/self/fd/\(number)"), key: key, boot: "00000000000000aa", isRequired: true, lanes: 1,
      clock: SystemClock(), log: .silent)
    trail.start()
    for _ in 0..<3 { await write(trail, 1) }
    #expect(!trail.isFailing && trail.unavailableResponses == 0)
    #expect(trail.close(within: .seconds(10)))
    let lines = try content("/proc/self/fd/\(number)")
    #expect(lines.compactMap { AuditAnchor(reading: $0)?.event } == [.start, .end])
  }

  @Test func `a line that must be on the disk goes to no pipe and no device`() async throws {
    let error = #expect(throws: SystemError.self) {
      try AuditTrail(
        to: .file("/dev/null"), key: key, boot: "00000000000000aa", isRequired: true, lanes: 1,
        clock: SystemClock(), log: .silent)
    }
    #expect(error?.description == "it is no regular file; strict mode needs one")
    let trail = try trail("00000000000000aa")
    await write(trail, 1)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
    trail.reopen()
    await write(trail, 1)
    #expect(trail.close(within: .seconds(10)))
    let lines = try content(path + ".1")
    #expect(AuditVerifier.verdict(on: lines, keys: [key]) == (.sound, []))
  }

  @Test func `a run that was written to standard output is none of a file's`() async throws {
    let trail = try trail("00000000000000aa")
    await write(trail, 3)
    #expect(trail.close(within: .seconds(10)))
    let other = try Written(key, boot: "00000000000000bb")
    other.audit(0..<2)
    let (lines, run) = (try content(path), other.lines())
    let log = Array("{\"log\":\"log\",\"message\":\"ready\"}\n".utf8)
    #expect(
      AuditVerifier.verdict(on: lines[..<2] + [log] + lines[2...], keys: [key]).verdict
        == finding(3, .foreign))
    // The foreign line comes before anything shows that this is an audit file.
    #expect(AuditVerifier.verdict(on: [log] + lines, keys: [key]).verdict == finding(1, .foreign))
    for at in [1, 3, lines.count] {
      let spliced = lines[..<at] + run + lines[at...]
      #expect(
        AuditVerifier.verdict(on: Array(spliced), keys: [key]).verdict == finding(at + 1, .missingBeforeStart)
      )
    }
    #expect(AuditVerifier.verdict(on: run + run.prefix(0), keys: [key]) == (.sound, []))
    let third = try Written(key, boot: "00000000000000cc")
    #expect(AuditVerifier.verdict(on: run + third.lines(), keys: [key]) == (.sound, []))
  }

  @Test func `a line of the log before a cut head's file is known to be the audit's own is foreign`()
    async throws
  {
    let trail = try trail("00000000000000aa")
    await write(trail, 1)
    trail.anchor(.minute)
    await write(trail, 2)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
    trail.reopen()
    await write(trail, 1)
    #expect(trail.close(within: .seconds(10)))
    let log = Array("{\"log\":\"log\",\"message\":\"ready\"}\n".utf8)
    let (old, new) = (Array(try content(path + ".1")[2...]), try content(path))
    for at in 0...old.count {
      let spliced = old[..<at] + [log] + old[at...]
      #expect(
        AuditVerifier.verdict(on: Array(spliced), new, keys: [key]).verdict == finding(at + 1, .foreign))
    }
    #expect(
      AuditVerifier.verdict(on: old, [log] + new, keys: [key]).verdict
        == .tampered(.init(place: place(1, file: 1), fault: .foreign)))
  }

  @Test func `a later file begins with a start of its own, or goes on`() async throws {
    for boot in ["00000000000000aa", "00000000000000bb"] {
      let trail = try trail(boot)
      await write(trail, 3)
      #expect(trail.close(within: .seconds(10)))
    }
    let lines = try content(path)
    let first = try Written(key, boot: "0123456789abcdef").lines()
    // The second start followed the first one's end.
    #expect(
      AuditVerifier.verdict(on: Array(lines[5...]), keys: [key])
        == (.sound, [.cutHead(place(1), isChecked: true)]))
    #expect(
      AuditVerifier.verdict(on: first, Array(lines[5...]), keys: [key]).verdict
        == .tampered(.init(place: place(1, file: 1), fault: .missingBeforeStart)))
  }

  @Test func `a chain goes on over a rotation by rename`() async throws {
    let trail = try trail("00000000000000aa")
    await write(trail, 3)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
    await write(trail, 2)
    trail.reopen()
    await write(trail, 2)
    #expect(trail.close(within: .seconds(10)))
    let (old, new) = (try content(path + ".1"), try content(path))
    #expect(old.count == 6 && new.count == 4)
    #expect(AuditVerifier.verdict(on: old, new, keys: [key]) == (.sound, []))
    let (verdict, notes) = AuditVerifier.verdict(on: new, keys: [key])
    #expect(verdict == .sound && notes == [.cutHead(place(1), isChecked: true)])
    #expect(
      AuditVerifier.verdict(on: Array(old.dropLast()), new, keys: [key]).verdict
        == .tampered(.init(place: place(1, file: 1), fault: .missing(from: 6, through: 6))))
  }
}
