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
  /// Characters of a value, unless the app's schema says otherwise.
  package static let valueLength = 255
  /// Arrays and objects within each other.
  package static let depth = 32
  /// Problems named in one answer; a last one says that there are more.
  package static let problems = 100
}
