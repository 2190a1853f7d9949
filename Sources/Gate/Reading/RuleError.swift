// A mistake in a rule, explained to the person who wrote the rule.

/// A mistake in a rule: what is wrong, and what to do about it.
public struct RuleError: Error, Hashable, Sendable {
  /// The key it stands under, relative to the rule, as `weekly.mon`.
  public var key: String
  /// What is wrong, as half a sentence without a full stop.
  public var problem: String
  /// What to do about it.
  public var remedy: String

  /// Describes a mistake.
  public init(key: String, problem: String, remedy: String) {
    self.key = key
    self.problem = problem
    self.remedy = remedy
  }

  /// The same mistake, found under another key.
  func under(_ key: String) -> Self { Self(key: key, problem: problem, remedy: remedy) }
}

/// A text from a configuration in quotation marks, cut where it is long and without control characters.
func quoted(_ text: String, limit: Int = 60) -> String {
  let shown = text.unicodeScalars.prefix(limit).map { $0.isPrintable ? String($0) : "?" }
  return "\"\(shown.joined())\(text.unicodeScalars.count > limit ? "…" : "")\""
}

extension Unicode.Scalar {
  /// Whether it stays on its line and leaves the order of what stands beside it.
  fileprivate var isPrintable: Bool {
    guard !isASCII else { return value >= 0x20 && value != 0x7F }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return false
    default: return true
    }
  }
}

/// The word of a list that a mistyped one is nearest to; nil when none is near.
func nearest(to word: String, in known: some Sequence<String>) -> String? {
  // Two letters changed places is two.
  let limit = word.count < 4 ? 1 : max(2, word.count / 3)
  var best: (word: String, distance: Int)?
  for candidate in known where abs(candidate.count - word.count) <= limit {
    let distance = editDistance(Array(word.utf8), Array(candidate.utf8))
    if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
  }
  return best?.word
}

/// How many letters have to be put in, taken out or changed to come from one word to another.
private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
  var row = Array(0...b.count)
  for (i, letter) in a.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, other) in b.enumerated() {
      let cost = letter == other ? diagonal : 1 + min(diagonal, row[j], row[j + 1])
      diagonal = row[j + 1]
      row[j + 1] = cost
    }
  }
  return row[b.count]
}

extension UInt8 {
  /// Whether the byte is an ASCII letter.
  var isASCIILetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
  /// Whether the byte is an ASCII digit.
  var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
}
