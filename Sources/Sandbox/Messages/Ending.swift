// How the emulator ends a request: with a response, a partial response or a closed connection.

/// The end of a request: a whole response, half of one, or a closed connection; at once or after a delay.
struct Ending: Sendable {
  /// The response; nil closes the connection.
  var reply: Reply?
  /// The delay, in milliseconds.
  var delay: Int64
  /// Whether the connection closes in the middle of the response.
  var isCutOff: Bool

  init(_ reply: Reply?, after delay: Int64 = 0, isCutOff: Bool = false) {
    self.reply = reply
    self.delay = delay
    self.isCutOff = isCutOff
  }
}
