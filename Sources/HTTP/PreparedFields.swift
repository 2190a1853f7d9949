/// Field lines serialised once, to be put on many answers.
public struct PreparedFields: Sendable {
  /// All lines, each ended.
  let lines: [UInt8]

  /// Serialises fields; nil where one must not be written, by the rules of `PreparedResponse`.
  public init?(_ fields: Fields) {
    var lines: [UInt8] = []
    guard PreparedResponse.append(fields, to: &lines) else { return nil }
    self.lines = lines
  }

  /// Appends the lines.
  @inline(__always) public func appendLines(to output: inout [UInt8]) { output.append(contentsOf: lines) }
}
