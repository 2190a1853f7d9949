/// Field lines serialised once, to be put on many answers.
public struct PreparedFields: Sendable {
  /// All lines, each ended.
  public let lines: [UInt8]

  /// Serialises fields; nil where one must not be written, by the rules of `PreparedResponse`.
  public init?(_ fields: Fields) {
    var lines: [UInt8] = []
    guard PreparedResponse.append(fields, to: &lines) else { return nil }
    self.lines = lines
  }
}
