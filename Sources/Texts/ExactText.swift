// Compares texts from outside by their octets, because `String` compares by canonical equivalence.

extension String {
  /// Whether both texts have the same UTF-8 octets. `==` is also true for canonically equivalent texts: it
  /// treats U+212A KELVIN SIGN as `K`, and `é` as `e` with U+0301. Another user of an identity provider may
  /// have such a name.
  package func hasSameBytes(as other: String) -> Bool {
    let isSame = unsafe utf8.withContiguousStorageIfAvailable { octets in
      unsafe other.utf8.withContiguousStorageIfAvailable { others in
        unsafe octets.span.hasSameOctets(as: others.span)
      }
    }
    if let isSame = isSame ?? nil { return isSame }
    return utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}

extension Sequence where Element == String {
  /// Whether one of the texts has these UTF-8 octets.
  package func contains(exactly text: String) -> Bool { contains { $0.hasSameBytes(as: text) } }
}

/// A text that is equal to another one only if both have the same UTF-8 octets. For keys of dictionaries,
/// members of sets, and associated values.
public struct ExactText: Sendable {
  /// The text, for output.
  public let text: String

  /// Wraps a text from outside.
  public init(_ text: String) { self.text = text }
}

extension ExactText: Hashable {
  public static func == (a: ExactText, b: ExactText) -> Bool { a.text.hasSameBytes(as: b.text) }

  /// Hashes only the octets. `String` would look for canonical equivalents.
  public func hash(into hasher: inout Hasher) {
    let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable {
      unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0))
    }
    // Equal octets have the same hash in either form of storage.
    if isDone == nil { unsafe Array(text.utf8).withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
  }
}

extension ExactText: ExpressibleByStringLiteral, CustomStringConvertible {
  public init(stringLiteral value: String) { self.init(value) }

  public var description: String { text }
}

/// A member with a text from outside. Values of the type that declares it are equal only if their texts have
/// the same UTF-8 octets:
///
///     struct User: Hashable { @Exact var subject: String }
@propertyWrapper
public struct Exact<Value: ExactlyComparable>: Hashable, Sendable {
  public var wrappedValue: Value

  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

  public static func == (a: Self, b: Self) -> Bool { Value.haveSameBytes(a.wrappedValue, b.wrappedValue) }

  /// The hash of `String` is equal for equal octets.
  public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

/// A type that `Exact` can wrap: a text, or an optional text.
public protocol ExactlyComparable: Hashable, Sendable {
  /// Whether both have the same UTF-8 octets.
  static func haveSameBytes(_ a: Self, _ b: Self) -> Bool
}

extension String: ExactlyComparable {
  public static func haveSameBytes(_ a: String, _ b: String) -> Bool { a.hasSameBytes(as: b) }
}

extension Optional: ExactlyComparable where Wrapped == String {
  public static func haveSameBytes(_ a: String?, _ b: String?) -> Bool {
    switch (a, b) {
    case (let a?, let b?): a.hasSameBytes(as: b)
    case (nil, nil): true
    default: false
    }
  }
}
