// Tests of the box for a value that a closure takes once.

import Platform
import Testing

@Suite struct OnceTests {
  private struct Ticket: ~Copyable {
    let number: Int
  }

  @Test func `a value that cannot be copied is taken once`() async {
    let ticket = Once(Ticket(number: 7))
    let taken: @Sendable () -> Int = { ticket.take().number }
    #expect(taken() == 7)
    await #expect(processExitsWith: .failure) {
      let ticket = Once(Ticket(number: 7))
      _ = ticket.take().number
      _ = ticket.take().number
    }
  }
}
