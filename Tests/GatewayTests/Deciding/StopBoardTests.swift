import Gate
import Testing

@testable import Gateway

@Suite struct StopBoardTests {
  @Test func `a stop of everyone holds for everyone, action by action`() {
    let board = StopBoard()
    #expect(!board.stops(.access, caller: "a", app: nil))
    #expect(board.stop(.all, [.access]))
    #expect(board.stops(.access, caller: "a", app: nil))
    #expect(!board.stops(.callback, caller: "a", app: nil))
    #expect(board.stop(.all, [.callback]))
    board.resume(.all, [.access])
    #expect(!board.stops(.access, caller: "a", app: "shop"))
    #expect(board.stops(.callback, caller: "a", app: "shop"))
    #expect(board.stops == [StopBoard.Stop(scope: .all, actions: [.callback])])
    board.resume(.all, [.callback])
    #expect(board.stops.isEmpty)
  }

  @Test func `apps and callers are stopped by name, also where the names are equal`() {
    let board = StopBoard()
    #expect(board.stop(.app("shop"), [.access, .callback]))
    #expect(board.stops(.access, caller: "x", app: "shop"))
    #expect(!board.stops(.access, caller: "shop", app: "help"))
    #expect(!board.stops(.access, caller: "shop", app: nil))
    #expect(board.stop(.caller("ann"), [.access]))
    #expect(board.stops(.access, caller: "ann", app: nil))
    #expect(!board.stops(.callback, caller: "ann", app: nil))
  }

  @Test func `to resume everyone resumes nobody who was stopped by name`() {
    let board = StopBoard()
    #expect(board.stop(.all, [.access]) && board.stop(.caller("ann"), [.access]))
    board.resume(.all, [.access, .callback])
    #expect(board.stops(.access, caller: "ann", app: nil))
    #expect(!board.stops(.access, caller: "bob", app: nil))
  }

  @Test func `the board is bounded`() {
    let board = StopBoard()
    for i in 0..<StopBoard.capacity { #expect(board.stop(.caller("\(i)"), [.access])) }
    #expect(!board.stop(.caller("one more"), [.access]))
    #expect(board.stop(.caller("0"), [.callback]))
  }
}
