// The limits on one callback request; Talkdesk documents none, so these are the server's own.

/// The limits on one callback request. Talkdesk documents none, so these are this server's own. Lengths count
/// Unicode scalar values, because what people see as one character can be any number of bytes.
package enum CallbackLimits {
  /// The maximum size of a request's body, in bytes.
  package static let contentBytes = 16 * 1024
  /// The maximum number of fields of the context, without those that the server adds.
  package static let fields = 20
  /// The maximum length of a field's name, unless the app's schema has a longer name.
  package static let nameLength = 64
  /// The maximum length of `display_name` and of `tooltip_text`.
  package static let labelLength = 255
  /// The maximum length of a value that is not a URL, unless the app's schema says otherwise.
  package static let valueLength = 255
  /// The maximum depth of arrays and objects within each other.
  package static let depth = 32
  /// The maximum number of problems in one response. One more says that there are others.
  package static let problems = 100

  /// Whether a character is a control, C1 included, or a line or paragraph separator. In a label or value it
  /// would break lines on screens, in logs and wherever the text is passed on.
  package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
    default: false
    }
  }
}
