// The limits on one callback request; Talkdesk documents none, so these are the server's own.

/// How much one callback may carry. Talkdesk documents no limits; these are this server's own, and lengths count
/// Unicode scalar values, because what people see as one character can be any number of bytes.
package enum CallbackLimits {
  /// The most bytes of a request's body.
  package static let contentBytes = 16 * 1024
  /// Fields of the context, those the server adds not counted.
  package static let fields = 20
  /// Characters of a field's name, unless the app's schema has a longer one.
  package static let nameLength = 64
  /// Characters of `display_name` and of `tooltip_text`.
  package static let labelLength = 255
  /// Characters of a value that is no URL, unless the app's schema says otherwise.
  package static let valueLength = 255
  /// Arrays and objects within each other.
  package static let depth = 32
  /// Problems named in one answer; a last one says that there are more.
  package static let problems = 100

  /// Control characters, C1 and the line and paragraph separators included: in a label or value they would break lines of
  /// screens, logs and whatever the text is passed to.
  package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
    default: false
    }
  }
}
