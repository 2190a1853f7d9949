/// The fields of a message that the server builds or gets from an upstream server, in order. Names are
/// compared without case (RFC 9110 §5).
public struct Fields: Sendable, ExpressibleByDictionaryLiteral {
  /// One field line.
  public struct Line: Hashable, Sendable {
    /// The name as it is written.
    public var name: String
    /// The value without surrounding white space.
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// All lines in order.
  public private(set) var lines: [Line]

  public init() { lines = [] }

  public init(dictionaryLiteral elements: (String, String)...) {
    lines = elements.map { Line(name: $0.0, value: $0.1) }
  }

  /// Adds a line after all others.
  public mutating func append(_ name: String, _ value: String) {
    lines.append(Line(name: name, value: value))
  }

  /// The first value of a name; setting replaces every line of that name, nil removes them.
  public subscript(_ name: String) -> String? {
    get { values(of: name).first }
    set {
      lines.removeAll { Self.same($0.name, name) }
      if let newValue { append(name, newValue) }
    }
  }

  /// Every value of a name, in order.
  public func values(of name: String) -> [String] {
    lines.filter { Self.same($0.name, name) }.map(\.value)
  }

  private static func same(_ a: String, _ b: String) -> Bool {
    a.utf8.count == b.utf8.count && a.utf8.elementsEqual(b.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
  }
}
