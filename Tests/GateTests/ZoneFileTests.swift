// Tests of reading time zone files: all zones compared with Python's zoneinfo, and files made by hand.

import Documents
import Foundation
import TestSupport
import Testing

@testable import Gate

struct ZoneFileTests {
  private static let years: Range<Int64> = 0..<4_102_444_800

  /// Runs a program and returns what it prints.
  private static func output(of command: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      ["PATH=\(ProcessInfo.processInfo.environment["PATH"] ?? ""):/usr/sbin:/sbin"] + command
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(command)")
    return String(decoding: data, as: UTF8.self)
  }

  private static func scratch() -> URL {
    URL.temporaryDirectory.appending(path: "zones-\(UUID().uuidString)")
  }

  /// Fat files list all changes until 2037.
  @Test func `all zones of this machine agree with Python's zoneinfo from 1970 to 2099`() throws {
    #expect(try compare(ZoneFolder.system.path).isEmpty)
  }

  /// Slim files omit the changes that follow from the footer.
  @Test func `all zones in slim files agree with Python's zoneinfo from 1970 to 2099`() throws {
    let folder = Self.scratch()
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = try Self.output(of: ["zic", "-b", "slim", "-d", folder.path(), "\(ZoneFolder.system.path)/tzdata.zi"])
    #expect(try Data(contentsOf: folder.appending(path: "Europe/Lisbon")).count < 2000)
    // In a file that zic wrote before 2023, the footer contradicts the last transition: Python follows the
    // footer one second later. The server keeps the transition until the footer's next one, which is right in
    // this case.
    #expect(try compare(folder.path()).allSatisfy { $0 == "America/Ojinaga" })
  }

  /// The zones in a folder for which Python gets another result.
  private func compare(_ folder: String) throws -> [String] {
    var (different, zones, spans) = ([String](), 0, [Substring: Substring]())
    let command = ["python3", fixture("hours/offsets.py").path(), folder, "\(spacing(8))"]
    for line in try Self.output(of: command).split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 1)
      try #require(words.count == 2)
      let (name, written) = (words[0], words[1])
      let same = written.first == "=" ? written.dropFirst() : name
      if same == name { spans[name] = written }
      zones += 1
      let table = try ZoneFolder(path: folder).table(of: String(name), covering: Self.years)
      let read = zip(table.starts, table.offsets).map { "\($0):\($1)" }.joined(separator: " ")
      if read != spans[same] ?? "" { different.append(String(name)) }
    }
    #expect(zones > 400 / spacing(8))
    return different
  }

  // MARK: Files made by hand

  /// A TZif file with a few types.
  private static func file(
    version: Character = "2", times: [(Int64, UInt8)] = [], offsets: [Int32] = [0], leaps: Int = 0,
    footer: String = ""
  ) -> [UInt8] {
    func big(_ value: Int64, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: value >> Int64(8 * (size - 1 - $0))) }
    }
    func block(_ times: [(Int64, UInt8)], _ timeSize: Int) -> [UInt8] {
      let counts = [0, 0, leaps, times.count, offsets.count, 4].flatMap { big(Int64($0), 4) }
      return Array("TZif\(version)".utf8) + [UInt8](repeating: 0, count: 15) + counts
        + times.flatMap { big($0.0, timeSize) } + times.map(\.1)
        + offsets.flatMap { big(Int64($0), 4) + [0, 0] } + Array("LMT\0".utf8)
        + [UInt8](repeating: 0, count: leaps * (timeSize + 4))
    }
    return version == "\0" ? block(times, 4) : block([], 4) + block(times, 8) + Array("\n\(footer)\n".utf8)
  }

  private func spans(_ file: [UInt8], _ years: Range<Int64> = years) -> [String]? {
    ZoneTable(tzif: file, covering: years).map { zip($0.starts, $0.offsets).map { "\($0):\($1)" } }
  }

  @Test func `a file of version 1 has 32 bits and no footer`() {
    let file = Self.file(version: "\0", times: [(-5, 1), (100, 0), (200, 1)], offsets: [3600, -60])
    #expect(spans(file) == ["0:-60", "100:3600", "200:-60"])
    #expect(spans(Array(file.dropLast())) == nil)
  }

  @Test func `before the first transition the first type counts, and without a footer the last one stays`() {
    #expect(spans(Self.file(times: [(50, 1)], offsets: [60, 120])) == ["0:60", "50:120"])
    #expect(spans(Self.file(offsets: [60])) == ["0:60"])
    #expect(spans(Self.file(times: [(-50, 1), (0, 2)], offsets: [60, 120, 180])) == ["0:180"])
  }

  @Test func `a change to the same offset does not count, and none counts outside the years`() {
    #expect(spans(Self.file(times: [(50, 1), (90, 0)], offsets: [60, 60])) == ["0:60"])
    #expect(spans(Self.file(times: [(100, 1)], offsets: [60, 120]), 10..<100) == ["10:60"])
    #expect(spans(Self.file(times: [(99, 1)], offsets: [60, 120]), 10..<100) == ["10:60", "99:120"])
  }

  @Test func `the footer counts after the last transition only`() throws {
    // The footer gives two changes in 1970. One of them is before the transition.
    let file = Self.file(
      times: [(9_000_000, 1)], offsets: [7200, 3600], footer: "AAA-1BBB,M3.5.0,M10.5.0/3")
    let year = try [at("1970-10-25T01:00:00Z"), at("1971-03-28T01:00:00Z")].map(\.seconds)
    #expect(spans(file, 0..<year[1] + 1) == ["0:7200", "9000000:3600", "\(year[1]):7200"])
    // Without any transition, the footer counts from the beginning.
    #expect(
      spans(Self.file(offsets: [5], footer: "AAA-1BBB,M3.5.0,M10.5.0/3"), year[0]..<year[1] + 1)
        == ["\(year[0]):3600", "\(year[1]):7200"])
    // South of the equator, the year begins in summer.
    #expect(spans(Self.file(footer: "AAA-1BBB,M10.1.0,M3.3.0"), 0..<1) == ["0:7200"])
  }

  @Test func `summer time all year has no winter`() {
    #expect(spans(Self.file(footer: "XXX3EDT4,0/0,J365/23")) == ["0:-14400"])
    #expect(spans(Self.file(footer: "EST5EDT,0/0,J365/25")) == ["0:-14400"])
  }

  @Test(arguments: [
    ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z"),
    ("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"),
    ("IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-27T00:00:00Z", "2026-10-24T23:00:00Z"),
    ("AAA0BBB-0:30:15,60,J60/1:02:03", "2026-03-02T02:00:00Z", "2026-03-01T00:31:48Z"),
    ("AAA0BBB,59,J60", "2028-02-29T02:00:00Z", "2028-03-01T01:00:00Z"),
    ("AAA0BBB,J59/0,M12.5.4/+24:00", "2026-02-28T00:00:00Z", "2026-12-31T23:00:00Z"),
  ])
  func `a footer's changes`(_ footer: String, _ summer: String, _ winter: String) throws {
    let read = try #require(ZoneFooter(footer.utf8))
    let start = try at(summer).seconds
    let year = CivilDate(dayNumber: Int(start / 86_400)).parts.year
    let changes = read.changes(in: year)
    #expect(changes.map(\.time) == [start, try at(winter).seconds].sorted())
    #expect(
      changes.map(\.offset)
        == (start <= changes[0].time
          ? [read.summer?.offset, read.standard] : [read.standard, read.summer?.offset]))
  }

  @Test(arguments: [
    "E5", "EST", "EST25", "EST5:60", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M3.2.0,M11.1.0,",
    "EST5EDT,M13.1.0,M11.1.0",
    "EST5EDT,M3.0.0,M11.1.0", "EST5EDT,M3.6.0,M11.1.0", "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,J0,M11.1.0",
    "EST5EDT,J366,M11.1.0", "EST5EDT,366,M11.1.0", "EST5EDT,M3.2.0/168,M11.1.0", "<+01-1", "+01-1", "<+1>-1",
    "EST5EDT,M3.2.0/,M11.1.0", "EST5\u{0}", "EST5 ", " EST5", "EST0005", "EST--5",
  ])
  func `text that is no footer is refused`(_ text: String) {
    #expect(ZoneFooter(text.utf8) == nil)
    #expect(spans(Self.file(footer: text)) == nil)
  }

  @Test func `a file with leap seconds is refused`() {
    #expect(spans(Self.file()) == ["0:0"])
    #expect(spans(Self.file(leaps: 1)) == nil)
  }

  @Test func `a file whose parts contradict each other is refused`() {
    #expect(spans(Self.file(times: [(5, 2)], offsets: [0, 60])) == nil, "a type that is not there")
    #expect(spans(Self.file(times: [(5, 0), (5, 1)], offsets: [0, 60])) == nil, "two transitions at once")
    #expect(spans(Self.file(times: [(6, 0), (5, 1)], offsets: [0, 60])) == nil, "descending transitions")
    #expect(spans(Self.file(offsets: [])) == nil, "no type")
    #expect(spans(Self.file(offsets: [97_200])) == nil, "more than a day")
    #expect(spans(Self.file(offsets: [.min])) == nil, "more than a day")
  }

  @Test func `a file that was cut or changed anywhere never stops the server`() throws {
    let whole = [UInt8](try Data(contentsOf: URL(filePath: "\(ZoneFolder.system.path)/America/New_York")))
    #expect(spans(whole) != nil)
    for length in whole.indices { #expect(spans(Array(whole[..<length])) == nil) }
    var read = 0
    // The header, and a sample of the bytes after it.
    for index in whole.indices where index < 64 || index.isMultiple(of: spacing(7)) {
      for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
        var changed = whole
        changed[index] = value
        if let table = ZoneTable(tzif: changed, covering: Self.years) {
          read += 1
          #expect(table.starts[0] == 0)
          #expect(zip(table.starts, table.starts.dropFirst()).allSatisfy(<))
        }
      }
    }
    #expect(read > 0)
  }

  // MARK: The folder

  private func problem(_ name: String, in folder: String) -> String? {
    do throws(Refusal) {
      _ = try Zone(named: name, in: ZoneFolder(path: folder))
      return nil
    } catch {
      return "\(error.key): \(error.message) — \(error.remedy)"
    }
  }

  /// A folder with a few zones, and a zone beside it.
  private func withFolder(_ body: (String) throws -> Void) throws {
    let root = Self.scratch()
    defer { try? FileManager.default.removeItem(at: root) }
    for path in ["zones/Etc", "zones/right/Etc", "zones/posix/Etc", "zones/.hidden", "outside"] {
      try FileManager.default.createDirectory(
        at: root.appending(path: path), withIntermediateDirectories: true)
    }
    for path in [
      "zones/Etc/UTC", "zones/right/Etc/UTC", "zones/posix/Etc/UTC", "zones/.hidden/UTC", "outside/UTC",
    ] {
      try Data(Self.file()).write(to: root.appending(path: path))
    }
    try body(root.appending(path: "zones").path())
  }

  @Test func `no name leads out of the folder or to another database`() throws {
    try withFolder { folder in
      #expect(problem("Etc/UTC", in: folder) == nil)
      for name in [
        "../outside/UTC", "Etc/../../outside/UTC", "Etc/../Etc/UTC", "/Etc/UTC", "\(folder)/Etc/UTC",
        "Etc//UTC",
        "Etc/./UTC", "./Etc/UTC", "Etc/UTC/", "right/Etc/UTC", "posix/Etc/UTC", ".hidden/UTC", "Etc/UTC\u{0}",
        "Etc\\UTC", "Etc/UTC\n", "Etc/", "Etc", "Etc/ÜTC", "Etc/" + String(repeating: "U", count: 61),
      ] {
        #expect(problem(name, in: folder)?.contains("there is no time zone") == true, "\(name)")
      }
    }
  }

  @Test func `without tzdata the package is named, and UTC works`() {
    let folder = Self.scratch().path()
    #expect(
      problem("Europe/Lisbon", in: folder)
        == "timezone: this machine has no time zones in \(folder) — install the package tzdata, or use \"UTC\""
    )
    #expect(problem("UTC", in: folder) == nil)
    #expect(problem("GMT", in: folder) == nil)
  }

  @Test func `an old name whose file is in another package is answered with that package and the new name`()
    throws
  {
    try withFolder { folder in
      let index =
        "# version 2025b\nR d 1916 o - Jun 14 23s 1 S\nZ America/New_York -5 - EST\nL America/New_York US/Eastern\n"
      try Data(index.utf8).write(to: URL(filePath: "\(folder)/tzdata.zi"))
      #expect(
        problem("US/Eastern", in: folder)
          == "timezone: \"US/Eastern\" is an old name of \"America/New_York\", which this machine does not have — use "
          + "\"America/New_York\", or install the package tzdata-legacy")
      #expect(problem("US/Estern", in: folder)?.contains("did you mean \"US/Eastern\"?") == true)
      #expect(problem("us/eastern", in: folder)?.contains("did you mean \"US/Eastern\"?") == true)
    }
  }

  @Test func `a damaged file is a problem and never another clock`() throws {
    try withFolder { folder in
      for content in [[], Array("TZif2".utf8), Self.file(leaps: 1)] {
        try Data(content).write(to: URL(filePath: "\(folder)/Etc/GMT"))
        #expect(
          problem("Etc/GMT", in: folder)
            == "timezone: the file of the time zone \"Etc/GMT\" in \(folder) is damaged — install the package tzdata again"
        )
      }
    }
  }
}
