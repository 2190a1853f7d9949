// Reads untrusted CBOR (RFC 8949) strictly, and writes CBOR.

/// A value of CBOR. Floating-point numbers, tags, undefined and other simple values are not read.
public enum CBOR: Hashable, Sendable {
  case unsigned(UInt64)
  /// −1 minus the number.
  case negative(UInt64)
  case bytes([UInt8])
  /// Text as its UTF-8, so that values are equal by octets alone.
  case text([UInt8])
  case array([CBOR])
  /// The members in their order in the encoding.
  case map([Member])
  case bool(Bool)
  case null

  /// A key and its value.
  public struct Member: Hashable, Sendable {
    public let key: CBOR
    public let value: CBOR

    public init(_ key: CBOR, _ value: CBOR) {
      self.key = key
      self.value = value
    }
  }

  /// The reason why octets cannot be read.
  public enum Fault: String, Error, Hashable, Sendable {
    /// There are more octets than `CBOR.maximumBytes`.
    case tooLarge
    /// The octets end before the value.
    case truncated
    /// Octets follow the value.
    case trailing
    /// A length is not given before the content.
    case indefinite
    /// A number or a length is not in its shortest form (RFC 8949 §4.1).
    case notShortest
    /// A tag, a floating-point number, or a simple value other than false, true and null.
    case unsupported
    /// A map has a key twice.
    case duplicateKey
    /// Arrays and maps are nested more than `CBOR.maximumDepth` deep.
    case tooDeep
    /// A text is not UTF-8.
    case notText
  }

  /// The maximum number of octets that are read.
  public static let maximumBytes = 16 * 1024
  /// The maximum nesting of arrays and maps; an array of numbers is 1 deep.
  public static let maximumDepth = 4

  /// Reads exactly one value.
  public init(parsing octets: [UInt8]) throws(Fault) {
    var reader = try CBORReader(octets[...])
    self = try reader.value()
    guard reader.isAtEnd else { throw .trailing }
  }

  public static func text(_ text: String) -> CBOR { .text(Array(text.utf8)) }

  /// The bytes; nil for another kind.
  var octets: [UInt8]? { if case .bytes(let octets) = self { octets } else { nil } }
  /// The elements; nil for another kind.
  var elements: [CBOR]? { if case .array(let elements) = self { elements } else { nil } }
  /// The members; nil for another kind.
  var members: [Member]? { if case .map(let members) = self { members } else { nil } }

  /// The value under a key of a map; nil for another kind, or if the map does not have the key.
  subscript(key: CBOR) -> CBOR? { members?.first { $0.key == key }?.value }
  /// The value under a text key of a map; nil for another kind, or if the map does not have the key.
  subscript(key: String) -> CBOR? { self[.text(key)] }

  /// The value's octets, in shortest form.
  public var encoded: [UInt8] {
    switch self {
    case .unsigned(let number): Self.head(0, number)
    case .negative(let number): Self.head(1, number)
    case .bytes(let octets): Self.head(2, UInt64(octets.count)) + octets
    case .text(let octets): Self.head(3, UInt64(octets.count)) + octets
    case .array(let elements): Self.head(4, UInt64(elements.count)) + elements.flatMap(\.encoded)
    case .map(let members):
      Self.head(5, UInt64(members.count)) + members.flatMap { $0.key.encoded + $0.value.encoded }
    case .bool(let value): [value ? 0xF5 : 0xF4]
    case .null: [0xF6]
    }
  }

  private static func head(_ major: UInt8, _ argument: UInt64) -> [UInt8] {
    let size =
      argument < 24 ? 0 : argument <= 0xFF ? 1 : argument <= 0xFFFF ? 2 : argument <= 0xFFFF_FFFF ? 4 : 8
    guard size > 0 else { return [major << 5 | UInt8(argument)] }
    let information: UInt8 = size == 1 ? 24 : size == 2 ? 25 : size == 4 ? 26 : 27
    return [major << 5 | information]
      + (0..<size).map { UInt8(truncatingIfNeeded: argument >> UInt64(8 * (size - 1 - $0))) }
  }
}

/// Reads values one after the other.
struct CBORReader {
  private let octets: ArraySlice<UInt8>
  private var position: Int

  init(_ octets: ArraySlice<UInt8>) throws(CBOR.Fault) {
    guard octets.count <= CBOR.maximumBytes else { throw .tooLarge }
    self.octets = octets
    position = octets.startIndex
  }

  /// Whether everything was read.
  var isAtEnd: Bool { position == octets.endIndex }

  /// Reads the next value.
  mutating func value() throws(CBOR.Fault) -> CBOR { try value(within: CBOR.maximumDepth) }

  /// - Parameter depth: The maximum nesting of the value.
  private mutating func value(within depth: Int) throws(CBOR.Fault) -> CBOR {
    let (major, argument) = try head()
    switch major {
    case 0: return .unsigned(argument)
    case 1: return .negative(argument)
    case 2: return .bytes(Array(try take(argument)))
    case 3:
      let text = Array(try take(argument))
      guard String(validating: text, as: UTF8.self) != nil else { throw .notText }
      return .text(text)
    case 4:
      guard depth > 0 else { throw .tooDeep }
      var elements: [CBOR] = []
      for _ in 0..<(try count(argument, octetsEach: 1)) { elements.append(try value(within: depth - 1)) }
      return .array(elements)
    case 5:
      guard depth > 0 else { throw .tooDeep }
      var members: [CBOR.Member] = []
      // In shortest form, equal keys have equal octets.
      var keys: Set<ArraySlice<UInt8>> = []
      for _ in 0..<(try count(argument, octetsEach: 2)) {
        let start = position
        let key = try value(within: depth - 1)
        guard keys.insert(octets[start..<position]).inserted else { throw .duplicateKey }
        members.append(CBOR.Member(key, try value(within: depth - 1)))
      }
      return .map(members)
    case 7:
      switch argument {
      case 20: return .bool(false)
      case 21: return .bool(true)
      case 22: return .null
      default: throw .unsupported
      }
    default: throw .unsupported
    }
  }

  /// The major type and the argument of the next value.
  private mutating func head() throws(CBOR.Fault) -> (major: UInt8, argument: UInt64) {
    guard position < octets.endIndex else { throw .truncated }
    let (major, information) = (octets[position] >> 5, octets[position] & 0x1F)
    position += 1
    switch information {
    case 0..<24: return (major, UInt64(information))
    case 24...27 where major == 7: throw .unsupported
    case 24...27:
      var argument: UInt64 = 0
      for octet in try take(1 << UInt64(information - 24)) { argument = argument << 8 | UInt64(octet) }
      let least: UInt64 =
        switch information {
        case 24: 24
        case 25: 0x100
        case 26: 0x1_0000
        default: 0x1_0000_0000
        }
      guard argument >= least else { throw .notShortest }
      return (major, argument)
    case 31: throw .indefinite
    default: throw .unsupported
    }
  }

  private mutating func take(_ length: UInt64) throws(CBOR.Fault) -> ArraySlice<UInt8> {
    guard length <= UInt64(octets.endIndex - position) else { throw .truncated }
    defer { position += Int(length) }
    return octets[position..<position + Int(length)]
  }

  /// Returns a number of elements, after a check that enough octets are left for them.
  private func count(_ argument: UInt64, octetsEach size: UInt64) throws(CBOR.Fault) -> Int {
    guard argument <= UInt64(octets.endIndex - position) / size else { throw .truncated }
    return Int(argument)
  }
}
