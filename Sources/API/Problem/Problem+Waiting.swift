// Says in the detail of a problem how long to wait: people read the detail, and no headers.

extension Problem {
  /// A problem whose detail ends with the wait.
  ///
  /// - Parameters:
  ///   - happened: What happened, as sentences.
  ///   - seconds: Until a repetition can succeed; nil where that is not known.
  package init(_ code: Code, _ happened: String, tryAgainAfter seconds: Int?) {
    let wait = seconds.map { "in \(Self.words($0))" } ?? "later"
    self.init(code, "\(happened) Try again \(wait).", retryAfter: seconds)
  }

  /// A wait in words, never shorter than it is: seconds up to two minutes, then minutes up to two hours, then hours.
  package static func words(_ seconds: Int) -> String {
    switch seconds {
    case 1: "1 second"
    case ...120: "\(seconds) seconds"
    case ...7200: "\(seconds / 60 + (seconds % 60 == 0 ? 0 : 1)) minutes"
    default: "\(seconds / 3600 + (seconds % 3600 == 0 ? 0 : 1)) hours"
    }
  }
}
