// Why a setting of a sender cannot be used.

/// What is wrong with a setting, and what to do, for the person who configures it. Holds nothing of a key.
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

  /// Both.
  var words: String { "\(problem) — \(remedy)" }

  package var description: String { "\(setting): \(words)" }
}
