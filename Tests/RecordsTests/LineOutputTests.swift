// Tests of lines that several threads write to one descriptor.

import Dispatch
import Glibc
import JOSE
import JSON
import Platform
import Sealing
import Synchronization
import TestSupport
import Testing

@testable import Records

@Suite struct LineOutputTests {
  /// Reads a descriptor to its end, a few bytes at a time.
  private final class SlowReader: Sendable {
    private let bytes = Mutex<[UInt8]>([])
    private let isDone = DispatchSemaphore(value: 0)

    init(_ descriptor: Int32) {
      Thread.begin {
        var part = [UInt8](repeating: 0, count: 700)
        while case let count = read(descriptor, &part, part.count), count > 0 {
          self.bytes.withLock { $0 += part[..<count] }
        }
        close(descriptor)
        self.isDone.signal()
      }
    }

    func content() -> [UInt8] {
      isDone.wait()
      return bytes.withLock(\.self)
    }
  }

  private enum Thread {
    static func begin(_ body: @escaping @Sendable () -> Void) {
      DispatchQueue(label: "a thread of a test").async(execute: body)
    }
  }

  @Test func `lines of the audit chain and of the log stay whole where they share a slow pipe`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let reader = SlowReader(ends[0])
    let output = LineOutput(ends[1])
    let key = StoreKey(Secret([UInt8](repeating: 7, count: 32)))
    let sink = LogSink(lanes: 1, taking: { output.write($0).count })
    let log = Log(sink: sink, lane: 0, level: .info, format: .json, clock: SystemClock())
    let trail = try AuditTrail(
      to: .output { output.write($0).count }, key: key, boot: "0011223344556677", isRequired: false, lanes: 1,
      clock: SystemClock(), log: log)
    sink.start { _ in [] }
    trail.start()
    let count = 3000
    let filling = String(repeating: "-", count: 300)
    let audit = Array(#"{"log":"audit","filling":"\#(filling)","decision":"allow"}"#.utf8) + [0x0A]
    let isLogged = DispatchSemaphore(value: 0)
    Thread.begin {
      for _ in 0..<count { log.write(.info, "an event", ["filling": filling]) }
      isLogged.signal()
    }
    for _ in 0..<count { trail.sink.append(audit, lane: 0) }
    isLogged.wait()
    #expect(trail.close(within: .seconds(60)) && sink.close(within: .seconds(60)))
    close(ends[1])
    let lines = reader.content().split(separator: 0x0A)
    var kinds: [String: Int] = [:]
    let verifier = AuditVerifier(keys: [key])
    verifier.begin()
    for (index, line) in lines.enumerated() {
      kinds[(try? JSONValue(parsing: Array(line)))?["log"]?.string ?? "broken", default: 0] += 1
      verifier.read(Array(line) + [0x0A], at: .init(file: "stdout", line: index + 1))
    }
    verifier.end()
    #expect(kinds["broken"] == nil && kinds["audit"] == count && kinds["log"] == count)
    #expect(verifier.verdict() == .sound)
  }

  /// A named pipe, whose reader may leave and come back. Then a write fails in the middle of its lines.
  private struct NamedPipe {
    let path: String

    init() throws {
      path = "/tmp/callgate-lines-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
      try #require(mkfifo(path, 0o600) == 0)
    }

    func opened(_ flags: Int32) throws -> Int32 {
      let number = open(path, flags | O_CLOEXEC)
      try #require(number >= 0)
      return number
    }
  }

  @Test func `a line that a failure cuts is finished before the next line`() throws {
    ProcessSetup.ignoreBrokenPipes()
    let pipe = try NamedPipe()
    defer { unlink(pipe.path) }
    let reader = try pipe.opened(O_RDONLY | O_NONBLOCK)
    let writer = try pipe.opened(O_WRONLY)
    let output = LineOutput(writer)
    let lines = (0..<100).map { number in Array("\(number) \(String(repeating: "-", count: 1000))\n".utf8) }
    let result = Mutex<(count: Int, error: SystemError?)?>(nil)
    let isWritten = DispatchSemaphore(value: 0)
    Thread.begin {
      let written = output.write(Array(lines.joined()))
      result.withLock { $0 = written }
      isWritten.signal()
    }
    // The pipe is full, and the rest waits.
    var held: Int32 = 0
    while ioctl(reader, UInt(FIONREAD), &held) == 0, held < 65536 { sched_yield() }
    close(reader)
    isWritten.wait()
    let written = result.withLock { $0 }
    let (count, error) = try #require(written)
    #expect(error?.code == EPIPE && count > 65536 && count < lines.joined().count)
    #expect(Array(lines.joined())[count - 1] == 0x0A, "up to the end of a line")
    let content = SlowReader(try pipe.opened(O_RDONLY))
    let next = Array("next\n".utf8)
    let later = output.write(next)
    #expect(later.count == next.count && later.error == nil)
    close(writer)
    #expect(content.content() == lines.joined().prefix(count) + next)
  }
}
