// A header field of the request, for rules to look at.

/// A field of the request as the rules see it.
public struct RequestField: Hashable, Sendable {
  /// The field's name in lower case.
  public var name: String
  /// Its value, without surrounding white space.
  public var value: String

  /// Names a value; the name is put into lower case.
  public init(name: String, value: String) {
    self.name = name.lowercased()
    self.value = value
  }

  /// Names a value by a name that is in lower case already, as `Policy.fieldNames` has them.
  public init(lowercaseName name: String, value: String) {
    self.name = name
    self.value = value
  }
}
