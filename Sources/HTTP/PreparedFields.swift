/// Field lines serialized once, for many responses.
public struct PreparedFields: Sendable {
  /// All lines, each with its CR LF.
  public let lines: [UInt8]

  /// Serializes fields; nil if one of them must not be written, by the rules of `PreparedResponse`.
  public init?(_ fields: Fields) {
    var lines: [UInt8] = []
    guard PreparedResponse.append(fields, to: &lines) else { return nil }
    self.lines = lines
  }
}
