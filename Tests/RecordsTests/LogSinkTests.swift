// Tests of how log lines from many threads reach stdout in order, even when the reader stops.

import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Records

@Suite struct LogSinkTests {
  /// The written output, and a gate that blocks writing.
  private final class Output: Sendable {
    let bytes = Mutex<[UInt8]>([])
    let gate = DispatchSemaphore(value: 0)
    let accepts = Mutex(true)

    var lines: [Substring] { bytes.withLock { String(decoding: $0, as: UTF8.self) }.split(separator: "\n") }

    func write(_ more: [UInt8]) -> Bool {
      guard accepts.withLock({ $0 }) else { return false }
      bytes.withLock { $0 += more }
      return true
    }
  }

  @Test func `every line of a lane is written, in order`() {
    let output = Output()
    let sink = LogSink(lanes: 2, write: output.write)
    sink.start { Array("lost \($0)\n".utf8) }
    for number in 0..<1000 { sink.append(Array("a\(number)\n".utf8), lane: 0) }
    for number in 0..<1000 { sink.append(Array("b\(number)\n".utf8), lane: 1) }
    #expect(sink.close(within: .seconds(10)))
    let lines = output.lines
    #expect(lines.filter { $0.hasPrefix("a") } == (0..<1000).map { "a\($0)" })
    #expect(lines.filter { $0.hasPrefix("b") } == (0..<1000).map { "b\($0)" })
    #expect(sink.droppedLines == 0)
  }

  @Test func `lines of all lanes are written in the order in which they came`() {
    let output = Output()
    let sink = LogSink(lanes: 4, write: output.write)
    sink.start { Array("lost \($0)\n".utf8) }
    // The lines are written in many batches, because a lane is soon full.
    let filling = String(repeating: "-", count: 100)
    for number in 0..<40_000 {
      sink.append(Array("\(number) \(filling)\n".utf8), lane: number * 7 % 5 % 4)
    }
    #expect(sink.close(within: .seconds(10)))
    #expect(output.lines.map { String($0.prefix { $0 != " " }) } == (0..<40_000).map { "\($0)" })
  }

  @Test func `what one thread appends after another is written after it, whatever their lanes`() async {
    let output = Output()
    let sink = LogSink(lanes: 3, write: output.write)
    sink.start { Array("lost \($0)\n".utf8) }
    for number in 0..<2000 {
      await Task.detached { sink.append(Array("\(number)\n".utf8), lane: number % 3) }.value
    }
    #expect(sink.close(within: .seconds(10)))
    #expect(output.lines == (0..<2000).map { "\($0)" })
  }

  @Test func `a reader that stops delays no request, and the lost lines are counted and logged`() async throws
  {
    let output = Output()
    let sink = LogSink(lanes: 1) { bytes in
      output.gate.wait()
      output.gate.signal()
      return output.write(bytes)
    }
    sink.start { Array("lost \($0)\n".utf8) }
    let line = [UInt8](repeating: UInt8(ascii: "x"), count: 999) + [UInt8(ascii: "\n")]
    let count = 20_000
    for _ in 0..<count { sink.append(line, lane: 0) }
    let dropped = sink.droppedLines
    #expect(dropped >= count - 2 * (sink.laneCapacity / 1000 + 1))
    #expect(dropped < count - sink.laneCapacity / 1000 + 1)
    #expect(!sink.close(within: .milliseconds(50)))
    output.gate.signal()
    try await eventually { output.lines.contains("lost \(dropped)") }
    #expect(output.lines.filter { $0.hasPrefix("x") }.count == count - dropped)
  }

  @Test func `many lanes have less each, and enough`() {
    func capacity(_ lanes: Int) -> Int { LogSink(lanes: lanes) { _ in true }.laneCapacity }
    #expect(capacity(3) == 8 << 20 && capacity(8) == 8 << 20)
    #expect(capacity(16) == 4 << 20)
    #expect(capacity(129) == 2 << 20)
  }

  @Test func `lines that cannot be written are counted`() {
    let output = Output()
    output.accepts.withLock { $0 = false }
    let sink = LogSink(lanes: 1, write: output.write)
    sink.start { Array("lost \($0)\n".utf8) }
    sink.append(Array("one\n".utf8), lane: 0)
    sink.append(Array("two\n".utf8), lane: 0)
    #expect(sink.close(within: .seconds(10)))
    #expect(sink.droppedLines == 2)
  }

  @Test func `an output that fails within the lines has lost the rest of them alone`() {
    let taken = Mutex<[UInt8]>([])
    let sink = LogSink(
      lanes: 1,
      taking: { bytes in
        taken.withLock { taken in
          guard taken.isEmpty else { return 0 }
          taken = Array(bytes.prefix(8))
          return 8
        }
      })
    for text in ["one\n", "two\n", "three\n", "four\n"] { sink.append(Array(text.utf8), lane: 0) }
    sink.start { Array("lost \($0)\n".utf8) }
    #expect(sink.close(within: .seconds(10)))
    #expect(taken.withLock { String(decoding: $0, as: UTF8.self) } == "one\ntwo\n")
    #expect(sink.droppedLines == 2 && sink.unreportedLines == 2)
  }

  @Test func `unreported lines are those that wait, and those dropped since the last report`() async throws {
    let output = Output()
    output.accepts.withLock { $0 = false }
    let sink = LogSink(lanes: 1, write: output.write)
    sink.start { Array("lost \($0)\n".utf8) }
    sink.append(Array("one\n".utf8), lane: 0)
    try await eventually { sink.droppedLines >= 1 }
    #expect(sink.unreportedLines == 1)
    output.accepts.withLock { $0 = true }
    sink.append(Array("two\n".utf8), lane: 0)
    try await eventually { output.lines.count >= 2 }
    #expect(output.lines == ["lost 1", "two"])
    #expect(sink.close(within: .seconds(10)))
    #expect(sink.unreportedLines == 0 && sink.droppedLines == 1)

    let gate = DispatchSemaphore(value: 0)
    let stalled = LogSink(lanes: 1) { _ in
      gate.wait()
      return true
    }
    stalled.start { _ in [] }
    for _ in 0..<3 { stalled.append(Array("a line\n".utf8), lane: 0) }
    #expect(!stalled.close(within: .milliseconds(50)))
    #expect(stalled.unreportedLines == 3)
    for _ in 0..<3 { gate.signal() }
  }
}
