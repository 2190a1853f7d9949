// A header field of the request that rules read.

/// A header field of a request.
public struct RequestField: Hashable, Sendable {
  /// The field's name in lower case.
  public var name: String
  /// The field's value, without surrounding white space.
  public var value: String

  /// Creates a field. Converts the name to lower case.
  public init(name: String, value: String) {
    self.name = name.lowercased()
    self.value = value
  }

  /// Creates a field whose name is already in lower case, as in `Policy.fieldNames`.
  public init(lowercaseName name: String, value: String) {
    self.name = name
    self.value = value
  }
}
