// Asks at a terminal what `callgate pause` should pause, and for how long.

import Diagnosis

/// The questions of `callgate pause` without `--action`. In other programs, `stop` ends a server, so people
/// may type `callgate stop` without knowing that it refuses the requests of all callers.
enum PauseQuestions {
  /// Asks for the action, and for the duration if the order has none. Returns false without an answer.
  static func complete(_ order: inout StopOrder) -> Bool {
    let whom = order.id.map { "the \(order.scope) \($0)" } ?? "everyone"
    let words = StopOrder.words.map { $0.word }.joined(separator: ", ")
    let action = ask("What do you want to pause for \(whom): \(words) or all? ") { answer in
      let action = StopOrder.action(named: answer)
      return StopOrder.actions.contains(action) ? action : nil
    }
    guard let action else { return false }
    order.action = action
    guard order.duration == nil else { return true }
    let ordered = order
    let timed = ask("For how long: 30m, 2h, 1d, or open (until you run callgate resume)? ") { answer in
      var order = ordered
      if answer != "open" { order.duration = answer }
      return order.mistake == nil ? order : nil
    }
    guard let timed else { return false }
    order = timed
    return true
  }

  /// Asks until the answer is valid. Nil at an empty line or at the end of the input.
  private static func ask<Answer>(_ question: String, _ read: (String) -> Answer?) -> Answer? {
    while true {
      Output.prompt(question)
      guard let line = readLine(), !line.isEmpty else { return nil }
      if let answer = read(line) { return answer }
    }
  }
}
