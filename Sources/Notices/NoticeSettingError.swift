// Why a setting of a sender cannot be used.

/// What is wrong with a setting, and what to do, for the person who configures it. Holds nothing of a key.
package struct NoticeSettingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The setting by its name in its section, such as `key_id`.
  package let setting: String
  /// What is wrong, and what to do.
  package let words: String

  init(_ setting: String, _ words: String) {
    self.setting = setting
    self.words = words
  }

  package var description: String { "\(setting): \(words)" }
}
