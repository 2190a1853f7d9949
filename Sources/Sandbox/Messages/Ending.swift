// How the emulator ends a request: with a response, a partial response or a closed connection.

/// How a request ends: with an answer, a part of one or, without one, with a closed connection; at once or held back.
struct Ending: Sendable {
  /// The answer; nil closes the connection.
  var reply: Reply?
  /// How long it is held back, in milliseconds.
  var delay: Int64
  /// Whether the connection closes in the middle of the answer.
  var isCutOff: Bool

  init(_ reply: Reply?, after delay: Int64 = 0, isCutOff: Bool = false) {
    self.reply = reply
    self.delay = delay
    self.isCutOff = isCutOff
  }
}
