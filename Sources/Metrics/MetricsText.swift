/// Writes Prometheus' text format, version 0.0.4, which every scraper accepts.
public struct MetricsText: Sendable {
  /// The value of `Content-Type`.
  public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  /// The meaning of a family's values.
  public enum Kind: String, Sendable {
    /// Only grows, until the process ends.
    case counter
    /// Goes up and down.
    case gauge
    /// Durations in buckets.
    case histogram
  }

  /// Names and values that tell the series of a family apart.
  public typealias Labels = [(name: String, value: String)]

  /// The text so far.
  public private(set) var bytes: [UInt8] = []
  private var family: [UInt8] = []

  public init() { bytes.reserveCapacity(16_384) }

  /// Begins a family; its samples follow. A name may be used only once.
  /// - Parameter help: One sentence, for people.
  public mutating func family(_ name: String, _ kind: Kind, _ help: String) {
    family = Array(name.utf8)
    bytes.append(contentsOf: "# HELP \(name) ".utf8)
    for octet in help.utf8 {
      switch octet {
      case UInt8(ascii: "\\"): bytes.append(contentsOf: #"\\"#.utf8)
      case UInt8(ascii: "\n"): bytes.append(contentsOf: #"\n"#.utf8)
      default: bytes.append(octet)
      }
    }
    bytes.append(contentsOf: "\n# TYPE \(name) \(kind.rawValue)\n".utf8)
  }

  /// Writes one series of the family.
  public mutating func sample(_ labels: Labels, _ value: Int) { sample("", labels, String(value)) }

  /// Writes one series of the family.
  public mutating func sample(_ labels: Labels, _ value: Double) { sample("", labels, Self.number(value)) }

  /// Writes the only series of a family.
  public mutating func sample(_ value: Int) { sample([], value) }

  /// Writes the only series of a family.
  public mutating func sample(_ value: Double) { sample([], value) }

  /// Writes one series of a family of histograms.
  /// - Parameters:
  ///   - counts: The number of durations in each bucket.
  ///   - words: The bounds of the buckets, as in the label `le`.
  ///   - seconds: The sum of all durations.
  mutating func histogram(
    _ labels: Labels, counts: [Int], of words: [String] = DurationBuckets.words, seconds: Double
  ) {
    var total = 0
    for (index, count) in counts.enumerated() {
      total &+= count
      sample("_bucket", labels + [("le", words[index])], String(total))
    }
    sample("_sum", labels, Self.number(seconds))
    sample("_count", labels, String(total))
  }

  private mutating func sample(_ suffix: String, _ labels: Labels, _ value: String) {
    bytes.append(contentsOf: family)
    bytes.append(contentsOf: suffix.utf8)
    if !labels.isEmpty {
      bytes.append(UInt8(ascii: "{"))
      for (index, label) in labels.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: label.name.utf8)
        bytes.append(contentsOf: #"=""#.utf8)
        append(labelValue: label.value)
        bytes.append(UInt8(ascii: "\""))
      }
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(UInt8(ascii: " "))
    bytes.append(contentsOf: value.utf8)
    bytes.append(UInt8(ascii: "\n"))
  }

  private mutating func append(labelValue text: String) {
    for octet in text.utf8 {
      switch octet {
      case UInt8(ascii: "\\"): bytes.append(contentsOf: #"\\"#.utf8)
      case UInt8(ascii: "\""): bytes.append(contentsOf: #"\""#.utf8)
      case UInt8(ascii: "\n"): bytes.append(contentsOf: #"\n"#.utf8)
      default: bytes.append(octet)
      }
    }
  }

  /// A number as Go's `ParseFloat` reads it.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    // Whole numbers without a fraction, as people write them.
    if let whole = Int(exactly: value) { return String(whole) }
    return "\(value)"
  }
}
