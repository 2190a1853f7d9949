// Adds the wait to the detail of a problem, because people read the detail and not the headers.

extension Problem {
  /// A problem whose detail ends with the wait.
  ///
  /// - Parameters:
  ///   - happened: What happened, as sentences.
  ///   - seconds: The wait until a retry can succeed; nil if unknown.
  ///   - condition: What the retry must have, such as `with the same key`.
  package init(
    _ code: Code, _ happened: String, tryAgainAfter seconds: Int?, _ condition: String? = nil
  ) {
    let wait = seconds.map { "in \(Self.words($0))" } ?? "later"
    let ending = condition.map { " \($0)" } ?? ""
    self.init(code, "\(happened) Try again \(wait)\(ending).", retryAfter: seconds)
  }

  /// A wait in words, rounded up: seconds up to two minutes, then minutes up to two hours, then hours.
  package static func words(_ seconds: Int) -> String {
    switch seconds {
    case 1: "1 second"
    case ...120: "\(seconds) seconds"
    case ...7200: "\(seconds / 60 + (seconds % 60 == 0 ? 0 : 1)) minutes"
    default: "\(seconds / 3600 + (seconds % 3600 == 0 ? 0 : 1)) hours"
    }
  }
}
