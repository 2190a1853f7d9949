// Tests of the state machine that decides when a connection reads, times out and closes.

import HTTP
import Platform
import Testing

@testable import HTTPServer

private func at(_ seconds: Double) -> MonotonicTime {
  MonotonicTime(nanoseconds: Int64(seconds * 1_000_000_000))
}

private func machine() -> ConnectionMachine {
  ConnectionMachine(limits: .init(ServerLimits()), now: at(0))
}

/// One complete request and its response.
private func exchange(
  _ machine: inout ConnectionMachine, _ ending: ConnectionMachine.Ending = .keepAlive, at seconds: Double
) -> ConnectionMachine.Action {
  #expect(machine.step(.request, now: at(seconds)) == .none)
  #expect(machine.step(.answered(ending), now: at(seconds)) == .none)
  return machine.step(.flushed(progress: true, isEmpty: true), now: at(seconds))
}

@Test func `a connection on which nothing comes is closed in silence`() {
  var machine = machine()
  #expect(machine.deadline == at(10))
  #expect(machine.step(.time, now: at(9.9)) == .none)
  #expect(machine.wantsInput)
  #expect(machine.step(.time, now: at(10)) == .close)
  #expect(machine.phase == .closed)
  #expect(machine.deadline == nil)
}

@Test func `the first head's time runs from the connection's beginning`() {
  var machine = machine()
  _ = machine.step(.parsed(.head), now: at(6))
  #expect(machine.deadline == at(10))
  #expect(machine.step(.time, now: at(10)) == .refuse(.timedOut))
}

@Test func `dripping octets extend neither the head's time nor the request's`() {
  var machine = machine()
  #expect(exchange(&machine, at: 50) == .none)
  for second in 0..<9 { _ = machine.step(.parsed(.head), now: at(60 + Double(second))) }
  #expect(machine.deadline == at(70))
  for second in 9..<29 { _ = machine.step(.parsed(.content), now: at(60 + Double(second))) }
  #expect(machine.deadline == at(90))
  #expect(machine.step(.time, now: at(89)) == .none)
  #expect(machine.step(.time, now: at(90)) == .refuse(.timedOut))
}

@Test func `content has its time from the end of the wait for the judgement of its head`() {
  var machine = machine()
  _ = machine.step(.parsed(.content), now: at(1))
  _ = machine.step(.request, now: at(1))
  #expect(machine.deadline == nil && !machine.wantsInput)
  #expect(machine.step(.judged, now: at(20)) == .none)
  #expect(machine.phase == .content && machine.wantsInput)
  #expect(machine.deadline == at(50))
}

@Test func `content that begins at once has its time from the first octet`() {
  var machine = machine()
  _ = exchange(&machine, at: 1)
  _ = machine.step(.parsed(.content), now: at(5))
  #expect(machine.deadline == at(35))
}

@Test func `an idle connection is closed in silence, an empty line does not extend it`() {
  var machine = machine()
  #expect(exchange(&machine, at: 3) == .none)
  #expect(machine.deadline == at(98))
  _ = machine.step(.parsed(.idle), now: at(90))
  #expect(machine.deadline == at(98))
  #expect(machine.step(.time, now: at(98)) == .close)
}

@Test func `a handler has all the time it needs and nothing is read meanwhile`() {
  var machine = machine()
  _ = machine.step(.request, now: at(1))
  #expect(machine.deadline == nil)
  #expect(!machine.wantsInput)
  #expect(machine.step(.time, now: at(1000)) == .none)
  #expect(machine.step(.inputEnded, now: at(1000)) == .none)
  #expect(machine.step(.shutDown, now: at(1000)) == .none)
}

@Test func `a client that does not read is waited for while it makes progress`() {
  var machine = machine()
  _ = machine.step(.request, now: at(1))
  _ = machine.step(.answered(.keepAlive), now: at(1))
  #expect(machine.step(.flushed(progress: true, isEmpty: false), now: at(1)) == .none)
  #expect(machine.isBlocked)
  #expect(!machine.wantsInput)
  #expect(machine.deadline == at(31))
  #expect(machine.step(.flushed(progress: false, isEmpty: false), now: at(20)) == .none)
  #expect(machine.deadline == at(31))
  #expect(machine.step(.flushed(progress: true, isEmpty: false), now: at(30)) == .none)
  #expect(machine.deadline == at(60))
  #expect(machine.step(.time, now: at(59)) == .none)
  #expect(machine.step(.time, now: at(60)) == .close)
}

@Test func `a client that reads at last is read from again, its idle time begins then`() {
  var machine = machine()
  _ = machine.step(.request, now: at(1))
  _ = machine.step(.answered(.keepAlive), now: at(1))
  _ = machine.step(.flushed(progress: true, isEmpty: false), now: at(1))
  #expect(machine.step(.flushed(progress: true, isEmpty: true), now: at(25)) == .none)
  #expect(machine.wantsInput)
  #expect(machine.deadline == at(120))
}

@Test func `a request in part behind unread answers is not timed while it is not read`() {
  var machine = machine()
  _ = machine.step(.request, now: at(1))
  _ = machine.step(.answered(.keepAlive), now: at(1))
  _ = machine.step(.parsed(.head), now: at(1))
  _ = machine.step(.flushed(progress: true, isEmpty: false), now: at(1))
  #expect(machine.step(.time, now: at(12)) == .none)
  _ = machine.step(.flushed(progress: true, isEmpty: true), now: at(20))
  #expect(machine.deadline == at(30))
  #expect(machine.step(.time, now: at(30)) == .refuse(.timedOut))
}

@Test func `a client that asked for the end is closed on when its answer is out`() {
  var machine = machine()
  #expect(exchange(&machine, .close, at: 1) == .close)
}

@Test func `an end the client did not ask for is followed by reading on, for a while`() {
  var machine = machine()
  #expect(exchange(&machine, .linger, at: 1) == .finish)
  #expect(machine.dropsInput)
  #expect(!machine.wantsInput)
  #expect(machine.deadline == at(3))
  #expect(machine.step(.dropped(1 << 20), now: at(2.9)) == .none)
  #expect(machine.deadline == at(3))
  var other = machine
  #expect(machine.step(.dropped(1), now: at(2.9)) == .close)
  var third = other
  #expect(other.step(.time, now: at(3)) == .close)
  #expect(third.step(.inputEnded, now: at(2)) == .close)
}

@Test func `the last answer is waited for before the end`() {
  var machine = machine()
  _ = machine.step(.parsed(.head), now: at(1))
  #expect(machine.step(.time, now: at(10)) == .refuse(.timedOut))
  _ = machine.step(.answered(.linger), now: at(10))
  #expect(machine.step(.flushed(progress: false, isEmpty: false), now: at(10)) == .none)
  #expect(machine.phase == .ending)
  #expect(machine.deadline == at(40))
  #expect(machine.step(.flushed(progress: true, isEmpty: true), now: at(11)) == .finish)
  #expect(machine.phase == .lingering)
}

@Test func `an end of input between requests closes, within one it is refused`() {
  var opened = machine()
  #expect(opened.step(.inputEnded, now: at(1)) == .close)
  var idle = machine()
  _ = exchange(&idle, at: 1)
  #expect(idle.step(.inputEnded, now: at(2)) == .close)
  var head = machine()
  _ = head.step(.parsed(.head), now: at(1))
  #expect(head.step(.inputEnded, now: at(2)) == .refuse(.malformed))
  var content = machine()
  _ = content.step(.parsed(.content), now: at(1))
  #expect(content.step(.inputEnded, now: at(2)) == .refuse(.malformed))
}

@Test func `the server's end closes what is idle and leaves what runs`() {
  // The client of a new connection is about to send its first request, and gets a second for it.
  var opened = machine()
  #expect(opened.step(.shutDown, now: at(1)) == .none)
  #expect(opened.deadline == at(2))
  #expect(opened.step(.time, now: at(2)) == .close)
  var idle = machine()
  _ = exchange(&idle, at: 1)
  #expect(idle.step(.shutDown, now: at(2)) == .close)
  var head = machine()
  _ = head.step(.parsed(.head), now: at(1))
  #expect(head.step(.shutDown, now: at(2)) == .none)
  #expect(head.wantsInput)
  var unread = machine()
  _ = unread.step(.request, now: at(1))
  _ = unread.step(.answered(.keepAlive), now: at(1))
  _ = unread.step(.flushed(progress: true, isEmpty: false), now: at(1))
  #expect(unread.step(.shutDown, now: at(2)) == .none)
}

@Test func `nothing happens to a closed connection`() {
  var machine = machine()
  machine.close()
  for event: ConnectionMachine.Event in [
    .time, .inputEnded, .shutDown, .flushed(progress: true, isEmpty: true), .dropped(9),
  ] {
    #expect(machine.step(event, now: at(1000)) != .refuse(.timedOut))
    #expect(machine.phase == .closed)
  }
  #expect(machine.deadline == nil)
  #expect(!machine.wantsInput && !machine.dropsInput)
}
