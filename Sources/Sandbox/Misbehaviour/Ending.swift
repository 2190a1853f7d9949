/// How a request ends: with an answer or, without one, with a closed connection; at once or held back.
struct Ending: Sendable {
  /// The answer; nil closes the connection.
  var reply: Reply?
  /// How long it is held back, in milliseconds.
  var delay: Int64

  init(_ reply: Reply?, after delay: Int64 = 0) {
    self.reply = reply
    self.delay = delay
  }
}
