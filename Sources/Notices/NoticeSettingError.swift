// The error for a setting of a push provider that cannot be used.

/// A mistake in a setting and its fix, for the person who configures it. It never contains a part of a key.
package struct NoticeSettingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The setting by its name in its section, such as `key_id`.
  package let setting: String
  /// What is wrong.
  package let problem: String
  /// What to do.
  package let remedy: String

  init(_ setting: String, _ problem: String, _ remedy: String) {
    self.setting = setting
    self.problem = problem
    self.remedy = remedy
  }

  /// The problem and the remedy.
  var words: String { "\(problem) — \(remedy)" }

  package var description: String { "\(setting): \(words)" }
}
