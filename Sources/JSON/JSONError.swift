/// The reason why a text is not JSON that this package accepts, and its position.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The byte that the reason is about, counted from 0; the length of the text if the text ended too early.
  public var offset: Int
  /// What is wrong.
  public var reason: Reason

  init(_ offset: Int, _ reason: Reason) {
    self.offset = offset
    self.reason = reason
  }

  /// `byte 12: a member name appears twice`. Contains nothing of the text itself, so it may be shown and
  /// logged.
  public var description: String { "byte \(offset): \(reason.rawValue)" }

  /// The ways a text can be wrong. The raw value is the sentence for people.
  public enum Reason: String, CaseIterable, Sendable {
    case byteOrderMark = "the text begins with a byte order mark"
    case controlInString = "a control character must be escaped in a string"
    case duplicateName = "a member name appears twice"
    case empty = "the text is empty"
    case expectedColon = "a colon must follow a member name"
    case expectedComma = "a comma or the closing bracket is missing"
    case expectedName = "a member name in double quotes is missing"
    case expectedValue = "a value is missing"
    case invalidEscape = "this escape does not exist"
    case invalidNumber = "a number is malformed"
    case invalidUTF8 = "the text is not valid UTF-8"
    case loneSurrogate = "half of a surrogate pair stands alone"
    case tooDeep = "arrays and objects are nested too deeply"
    case tooLong = "the text is too long"
    case tooManyMembers = "an object has too many members"
    case tooManyValues = "there are too many values"
    case trailingBytes = "something follows the value"
    case unterminated = "the text ends too early"
  }
}
