// The chain of audit lines: each line ends with a code over itself and the line before.

import HTTP
import JOSE
import JSON
import Platform
package import Sealing

/// Ends each line with its number in the chain and a code that ties it to the line before.
///
/// The member `chain` is the first 16 bytes, as Base64url, of an HMAC-SHA-256 over the previous line's 16
/// bytes (zeros before the first line) and the line up to `,"chain"`. The key of a boot is derived from the
/// store key and the boot's name. After each anchor line, the next key is SHA-256("callgate audit" ‖ key). So
/// a line that is changed, removed, added or moved does not fit.
package struct AuditChain: ~Copyable {
  /// Bytes of a code.
  package static let byteCount = 16

  /// The number of lines after which an anchor comes, even if no minute has passed.
  package static let longestEpoch = 4096

  /// The name of the process's run, 16 hexadecimal digits.
  package let boot: String
  /// The number of times that the key has changed.
  package private(set) var epoch = 0
  /// The number of the last line; the first is 1.
  package private(set) var sequence: Int64 = 0
  /// The code of the last line.
  package private(set) var last = [UInt8](repeating: 0, count: byteCount)
  /// Lines since the last anchor.
  package private(set) var linesInEpoch = 0
  private var key: Secret
  private var context: MACContext

  /// The chain of a new boot.
  package init(_ key: StoreKey, boot: String) {
    self.boot = boot
    self.key = Self.firstKey(key, boot)
    context = MACContext(key: self.key)
  }

  /// Resumes a chain after the line with the code `last`, to check the lines that follow.
  package init(_ key: StoreKey, boot: String, epoch: Int, sequence: Int64, last: [UInt8]) {
    self.init(key, boot: boot)
    self.key = Self.key(self.key, after: epoch)
    context = MACContext(key: self.key)
    self.epoch = epoch
    self.sequence = sequence
    self.last = last
  }

  /// Continues the chain after an anchor whose code does not fit.
  mutating func skip(to sequence: Int64, last: [UInt8]) {
    self.sequence = sequence
    self.last = last
    evolve()
  }

  /// Completes the line in `output` from `start` on, a JSON object without its last brace: appends its
  /// number, its code and the brace.
  package mutating func end(_ output: inout [UInt8], from start: Int) {
    sequence += 1
    linesInEpoch += 1
    output.append(contentsOf: AuditLineForm.sequenceName)
    output.append(decimal: Int(sequence))
    last = context.code(last, output.span.extracting(start..<output.count))
    output.append(contentsOf: AuditLineForm.chainName)
    Base64URL.append(last, to: &output)
    output.append(contentsOf: AuditLineForm.ending)
  }

  /// Whether `code` is the code of a line (up to `,"chain"`) that follows the last line. If so, this line
  /// becomes the last line.
  package mutating func accepts(_ content: Span<UInt8>, number: Int64, code: [UInt8]) -> Bool {
    guard context.code(last, content) == code else { return false }
    sequence = number
    last = code
    return true
  }

  /// Switches to the next key. Call this after each anchor.
  package mutating func evolve() {
    key = Self.key(key, after: 1)
    context = MACContext(key: key)
    epoch += 1
    linesInEpoch = 0
  }

  private static func firstKey(_ key: StoreKey, _ boot: String) -> Secret {
    key.derived(.audit, info: Array(boot.utf8), count: 32)
  }

  /// Derives the key that is used after a number of further anchors.
  private static func key(_ key: Secret, after anchors: Int) -> Secret {
    var exposed = key.exposedBytes()
    var bytes = Array("callgate audit".utf8) + exposed
    let start = bytes.count - exposed.count
    for _ in 0..<anchors {
      for index in exposed.indices { exposed[index] = 0 }
      exposed = SHA256.digest(bytes)
      for index in exposed.indices { bytes[start + index] = exposed[index] }
    }
    _ = Secret(wiping: &bytes)
    return Secret(wiping: &exposed)
  }
}

/// The form of a chained line.
package enum AuditLineForm {
  static let anchorStart = Array(#"{"log":"anchor","#.utf8)
  static let sequenceName = Array(#","seq":"#.utf8)
  static let chainName = Array(#","chain":""#.utf8)
  static let ending = Array("\"}\n".utf8)
  /// Length from the comma before `chain` to the line feed.
  static let tailCount = chainName.count + 22 + ending.count
  /// The maximum size of a line in bytes.
  static let longest = 1 << 20

  /// Returns a line without the zeros that a power cut left at its end, before its line feed if it has one.
  static func withoutZeros(_ line: ArraySlice<UInt8>) -> [UInt8] {
    let text = line.last == UInt8(ascii: "\n") ? line.dropLast() : line
    guard text.last == 0 else { return Array(line) }
    let end = text.lastIndex { $0 != 0 }.map { $0 + 1 } ?? text.startIndex
    return Array(text[..<end] + line[text.endIndex...])
  }

  /// The parts of a chained line.
  package struct Parts {
    /// Bytes up to `,"chain"`, which the code covers.
    package let contentCount: Int
    package let number: Int64
    package let code: [UInt8]
  }

  /// Parses a line with its line feed; nil if it does not end byte for byte as chained lines do.
  package static func parts(of line: Span<UInt8>) -> Parts? {
    let contentCount = line.count - tailCount
    guard contentCount > sequenceName.count + 1, line[0] == UInt8(ascii: "{"),
      isEqual(line, contentCount, chainName), isEqual(line, line.count - ending.count, ending)
    else { return nil }
    let textStart = contentCount + chainName.count
    let text = line.extracting(textStart..<textStart + 22)
    guard let code = Base64URL.decode(text), code.count == AuditChain.byteCount else { return nil }
    var start = contentCount
    while start > 0, line[start - 1] &- UInt8(ascii: "0") < 10, contentCount - start < 19 { start -= 1 }
    guard start < contentCount, line[start] != UInt8(ascii: "0"), start >= sequenceName.count,
      isEqual(line, start - sequenceName.count, sequenceName)
    else { return nil }
    var number: Int64 = 0
    for index in start..<contentCount {
      let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, overflows) = tens.addingReportingOverflow(Int64(line[index] - UInt8(ascii: "0")))
      guard !isTooLarge, !overflows else { return nil }
      number = sum
    }
    // The next number must also fit in an Int64.
    guard number < Int64.max else { return nil }
    return Parts(contentCount: contentCount, number: number, code: code)
  }

  private static func isEqual(_ line: Span<UInt8>, _ start: Int, _ bytes: [UInt8]) -> Bool {
    guard start >= 0, start + bytes.count <= line.count else { return false }
    for index in bytes.indices where line[start + index] != bytes[index] { return false }
    return true
  }
}

/// A line about the chain itself: at its start, each minute, after 4,096 lines, after lost lines, where the
/// file was reopened, and at its end.
package struct AuditAnchor: Hashable, Sendable {
  package enum Event: String, Sendable { case start, minute, lines, lost, reopen, end }

  package let event: Event
  package let boot: String
  package let epoch: Int
  /// How many lines were lost since the last anchor, because they could not be written in time.
  package var lost = 0
  /// The code of the line before in this chain; empty in the first.
  package var after: [UInt8] = []
  /// In the start anchor of a chain in a file: the code of the last line with a code that the file already
  /// contained. Empty if it contained none. Nil in other anchors, and on standard output.
  package var follows: [UInt8]?
  /// In the start anchor of a chain in a file: the digest of everything that the file contained after its
  /// last line with a code. Empty if nothing followed.
  package var torn: [UInt8] = []

  package init(_ event: Event, boot: String, epoch: Int) {
    self.event = event
    self.boot = boot
    self.epoch = epoch
  }

  /// Appends the line without its last brace.
  func append(to output: inout [UInt8], time: UnixTime) {
    output.append(contentsOf: #"{"log":"anchor","time":""#.utf8)
    time.appendRFC3339(to: &output)
    output.append(contentsOf: #"","event":"\#(event.rawValue)","boot":"\#(boot)","epoch":\#(epoch)"#.utf8)
    if lost > 0 { output.append(contentsOf: #","lost":\#(lost)"#.utf8) }
    let codes = [("after", after.isEmpty ? nil : after), ("follows", follows)]
    for case (let name, let code?) in codes + [("torn", torn.isEmpty ? nil : torn)] {
      output.append(contentsOf: #","\#(name)":""#.utf8)
      Base64URL.append(code, to: &output)
      output.append(UInt8(ascii: "\""))
    }
  }

  /// The maximum number of epochs of a boot: one a minute for nineteen years. Each epoch costs a hash before
  /// the line can be checked.
  private static let mostEpochs: Int64 = 10_000_000

  /// Reads an anchor from a whole line; nil for every other line.
  package init?(reading line: [UInt8]) {
    guard line.starts(with: AuditLineForm.anchorStart) else { return nil }
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue(parsing: line) } catch { return nil }
    guard let event = value["event"]?.string.flatMap(Event.init), let boot = value["boot"]?.string,
      let epoch = value["epoch"]?.int(in: 0...Self.mostEpochs)
    else { return nil }
    self.init(event, boot: boot, epoch: Int(epoch))
    lost = value["lost"]?.int(in: 0...Int64.max).map { Int($0) } ?? 0
    after = value["after"]?.string.flatMap(Base64URL.decode) ?? []
    follows = value["follows"]?.string.flatMap(Base64URL.decode)
    torn = value["torn"]?.string.flatMap(Base64URL.decode) ?? []
  }

  /// The digest of a part of a line, or of several, without the last line feed. The zeros that a power cut
  /// leaves do not count.
  static func digest(ofTorn part: [UInt8]) -> [UInt8] {
    Array(SHA256.digest(part.filter { $0 != 0 }).prefix(AuditChain.byteCount))
  }
}
