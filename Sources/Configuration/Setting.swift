// Declares one setting: its name in every source, its meaning and its default.

package import Documents

/// One setting: its name in every source, its meaning, and its default.
///
/// The reader, `callgate check`, the tables in docs/operate/configuration.md, and `app.json` all use
/// this one declaration.
public struct Setting: Sendable, Hashable {
  /// The ways to write a setting's value.
  public enum Form: String, Sendable, Hashable {
    /// A single text.
    case text
    /// A YAML list. In a variable, commas separate its items.
    case list
    /// A secret. The variable contains it. The variable with `_FILE` and the YAML key name a file that
    /// contains it. The YAML key with `_variable` instead of `_file` names a variable that contains it.
    case secret
    /// A file whose content is read. The variable and the YAML key name the file. The YAML key with
    /// `_variable` instead of `_file` names a variable with the content.
    case file
  }

  /// The key path in the YAML file, with `[]` for list items and `*` for names of the operator's own; nil if
  /// the file has no key for it.
  public let path: String?
  /// The environment variable, if there is one.
  public let variable: String?
  /// The flag, if there is one.
  public let flag: String?
  /// The way to write the value.
  public let form: Form
  /// Whether the value may be a secret although its form is text, such as a URL with a password.
  public let holdsSecret: Bool
  /// Whether the value is a telephone number, which is shown masked.
  public let holdsPhoneNumber: Bool
  /// The default value, as an operator would write it; nil if there is none.
  public let standard: String?
  /// The default in words, for the documents.
  public let standardNote: String?
  /// The remedy if the key is missing; nil for an optional key.
  public let remedy: String?
  /// Whether only tests need it, so that the reference leaves it out.
  public let isForTests: Bool
  /// The form of the value's text, for the schema.
  package fileprivate(set) var schema = TextSchema.text
  /// An example of a value, for the documents. Never a real secret.
  public let example: String
  /// The meaning, in one or two sentences.
  public let meaning: String

  init(
    _ path: String?, variable: String? = nil, flag: String? = nil, _ form: Form = .text,
    holdsSecret: Bool = false,
    holdsPhoneNumber: Bool = false, default standard: String? = nil, note: String? = nil,
    required remedy: String? = nil, forTests isForTests: Bool = false, example: String,
    _ meaning: String
  ) {
    self.path = path
    self.variable = variable
    self.flag = flag
    self.form = form
    self.holdsSecret = holdsSecret
    self.holdsPhoneNumber = holdsPhoneNumber
    self.standard = standard
    self.standardNote = note
    self.remedy = remedy
    self.isForTests = isForTests
    self.example = example
    self.meaning = meaning
  }

  /// The name in problems and summaries: the YAML path, or else the variable or the flag.
  public var name: String { path ?? variable ?? flag ?? "" }
  /// Whether the value is a secret or may be one, so that it is not shown.
  public var isRedacted: Bool { form == .secret || holdsSecret }
  /// The YAML path for naming an environment variable with the content, instead of a file with it at `path`.
  /// Nil if the setting does not name a file.
  public var variablePath: String? {
    guard let path, path.hasSuffix(Self.fileEnding) else { return nil }
    return path.dropLast(Self.fileEnding.count) + Self.variableEnding
  }
  /// The last part of `variablePath`.
  var variableKey: Key<String>? {
    guard let path, let variablePath else { return nil }
    let key = { (path: String) in String(path.split(separator: ".").last ?? "") }
    return .one(
      key(variablePath), VariableName.form,
      "The environment variable with the content, instead of `\(key(path))`.")
  }
  /// The key that names a file, for a key that names a variable with the same content; nil for any other key.
  static func fileKey(besideVariable key: String) -> String? {
    key.hasSuffix(variableEnding) ? key.dropLast(variableEnding.count) + fileEnding : nil
  }
  static let fileEnding = "_file"
  static let variableEnding = "_variable"
  /// The variable that names a file with the value. Nil for a setting without a variable, or whose value is
  /// not redacted.
  public var fileVariable: String? {
    // For YAML text, `CALLGATE_CONFIG` already names a file.
    guard let variable, isRedacted, variable != "CALLGATE_CONFIG_TEXT" else { return nil }
    return variable + "_FILE"
  }
}

/// A setting, with the form that reads its text as a value.
package struct TypedSetting<Value: Sendable>: Sendable {
  package let setting: Setting
  let form: TextForm<Value>

  init(_ setting: Setting, _ form: TextForm<Value>) {
    var setting = setting
    setting.schema = form.schema
    self.setting = setting
    self.form = form
  }

  init(_ setting: Setting, _ read: @escaping @Sendable (String) throws(Refusal) -> Value) {
    self.init(setting, TextForm(read))
  }

  package func read(_ text: String) throws(Refusal) -> Value { try form.read(text) }

  /// The last key of the setting's path. `form` replaces its form if the allowed values depend on other
  /// settings.
  func key(_ form: TextForm<Value>? = nil) -> Key<Value> {
    let name = String((setting.path ?? "").split(separator: ".").last ?? "")
    let form = form ?? self.form
    return name.hasSuffix("[]")
      ? .list(String(name.dropLast(2)), form, setting.meaning)
      : .one(name, form, required: setting.remedy, setting.meaning)
  }
}

/// The source of a secret, or of other content that a setting names.
package enum ContentSource: Sendable, Hashable {
  /// In the file at this path.
  case file(String)
  /// In the environment variable of this name.
  case variable(String)

  /// The source as problems, notices and `callgate check` name it.
  var shown: String {
    switch self {
    case .file(let path): quoted(path: path)
    case .variable(let name): "the variable \(name)"
    }
  }

  /// The noun for the source in problems, as in `names a file`.
  package var noun: String {
    switch self {
    case .file: "file"
    case .variable: "variable"
    }
  }
}

/// The names of environment variables that contain a secret or other content.
enum VariableName {
  /// A name that shells can set (POSIX.1-2017 §8.1). A refused text is not shown, because it may be the
  /// secret itself.
  static let form = TextForm<String>(.pattern("^[A-Za-z_][A-Za-z0-9_]*$")) { text throws(Refusal) in
    let isName =
      text.utf8.count <= 128 && text.utf8.first.map { !(0x30...0x39).contains($0) } ?? false
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
        default: false
        }
      }
    guard isName else {
      throw Refusal(
        "is not the name of an environment variable", "write its name, of letters, digits and _, without $")
    }
    return text
  }
}
