// Turns the merged sources into one configuration and collects every problem on the way.

package import Documents
import JOSE
import Texts

/// Turns the merge of all sources into a ``Configuration``, and collects every problem.
///
/// Each reader continues after a problem, with nil or a default, so that the others are checked too. If there
/// is any problem, the result is discarded.
package struct ConfigurationBuilder {
  package let partial: PartialConfiguration
  let purpose: ConfigurationPurpose
  let sources: ConfigurationSources
  package var problems: ProblemList
  var files: [String: FileStamp] = [:]
  /// The position of the YAML file, if it is empty.
  var emptyFile: DocumentPlace?

  package init(
    partial: PartialConfiguration, purpose: ConfigurationPurpose, sources: ConfigurationSources,
    problems: ProblemList, files: [String: FileStamp] = [:]
  ) {
    self.partial = partial
    self.purpose = purpose
    self.sources = sources
    self.problems = problems
    self.files = files
  }

  /// The maximum size of a file with a secret, in bytes.
  package static let maximumSecretBytes = 64 * 1024
  /// The maximum size of a certificate chain or a JWK set, in bytes (as `JWKSet.maximumBytes`).
  package static let maximumDocumentBytes = 256 * 1024

  /// Opens a mapping for reading. For any other node, records a problem and returns nil.
  mutating func open(_ node: DocumentNode, path: String) -> MappingReader? {
    let members = MappingReader(node, path: path)
    problems.add(contentsOf: members.problems)
    return members.isMapping ? members : nil
  }

  /// Closes a mapping and adds its problems. Returns whether every key in it is declared by a setting below
  /// `path`.
  @discardableResult
  mutating func close(_ members: inout MappingReader, _ path: String) -> Bool {
    let isKnown = members.finish(Settings.keys(below: path))
    problems.add(contentsOf: members.problems)
    return isKnown
  }

  /// Closes a mapping that needs exactly one of some keys, and returns the one it has; nil if it has none or
  /// several. In problems, `none` stands for a missing key, and `several` for too many.
  mutating func closeWithOne(
    _ members: inout MappingReader, _ path: String, none: String, several: String
  ) -> String? {
    let isKnown = close(&members, path)
    let keys = Settings.exactlyOne[path] ?? []
    // `source` reports a file and a variable for the same content.
    let given = keys.filter { key in
      members.has(key) && !(Setting.fileKey(besideVariable: key).map(members.has) ?? false)
    }
    if given.count != 1, isKnown || !given.isEmpty {
      let message =
        given.isEmpty ? "has no \(none)" : "has several \(several): \(given.joined(separator: ", "))"
      let list = Refusal.list(keys)
      let remedy = list.contains(",") ? "give it exactly one of \(list)" : "give it one: \(list)"
      problems.add(members.node.place, members.path, Refusal(message, remedy))
    }
    return given.count == 1 ? given[0] : nil
  }

  /// Notes a name with an invisible character, which makes it look like another name. Some scripts need such
  /// characters, so the name is not a problem.
  mutating func note(unseenIn name: String, at place: DocumentPlace) {
    guard let unseen = name.firstUnseen else { return }
    problems.note(place, "\(quoted(name)) contains \(unseen.unseenName): a name without it is another name")
  }

  /// The position of a setting's value, if it has one.
  package func place<Value>(of typed: TypedSetting<Value>) -> DocumentPlace? {
    partial.entries[typed.setting]?.place
  }

  /// A setting's value; nil if it is not set, or invalid.
  package mutating func stated<Value>(_ typed: TypedSetting<Value>) -> Value? {
    guard let entry = partial.entries[typed.setting] else { return nil }
    let text: String
    switch entry.content {
    case .text(let said): text = said
    case .content(let source):
      guard let bytes = secretBytes(source, at: entry.place, name: typed.setting.name) else { return nil }
      guard let decoded = String(validating: bytes, as: UTF8.self) else {
        problems.add(
          entry.place, typed.setting.name,
          Refusal("names a \(source.noun) that is not text", "check the \(source.noun)"))
        return nil
      }
      text = decoded
    case .list: return nil
    }
    do {
      return try typed.read(text)
    } catch {
      problems.add(entry.place, typed.setting.name, error)
      return nil
    }
  }

  /// A setting's value, or its default.
  package mutating func value<Value>(_ typed: TypedSetting<Value>) -> Value {
    if let stated = stated(typed) { return stated }
    guard let standard = typed.setting.standard else {
      preconditionFailure("\(typed.setting.name) has no default")
    }
    do {
      return try typed.read(standard)
    } catch {
      preconditionFailure("the default of \(typed.setting.name): \(error.message)")
    }
  }

  /// The valid items of a list. An item that is listed twice is a problem.
  mutating func list<Value: Hashable>(_ typed: TypedSetting<Value>) -> [Value] {
    guard let entry = partial.entries[typed.setting], case .list(let items) = entry.content else { return [] }
    var values: [Value] = []
    for item in items {
      do {
        let value = try typed.read(item.text)
        if values.contains(value) {
          problems.add(item.place, typed.setting.name, .twin)
        } else {
          values.append(value)
        }
      } catch {
        problems.add(item.place, typed.setting.name, error)
      }
    }
    return values
  }

  /// Whether a list has at least one item, valid or not.
  func hasItems<Value>(_ typed: TypedSetting<Value>) -> Bool {
    guard case .list(let items) = partial.entries[typed.setting]?.content else { return false }
    return !items.isEmpty
  }

  /// A secret's bytes and their position; nil without a secret, or if it is invalid.
  ///
  /// - Parameter isDocument: Whether blanks at the end do not count, as in PEM and JSON.
  package mutating func secret(
    _ typed: TypedSetting<String>, isDocument: Bool = false
  ) -> (bytes: [UInt8], place: DocumentPlace)? {
    guard let entry = partial.entries[typed.setting] else { return nil }
    let (place, name) = (entry.place, typed.setting.name)
    switch entry.content {
    case .text(let text):
      let bytes = Array(text.utf8)
      if !isDocument, let blank = bytes.finalBlank {
        problems.add(place, name, Refusal("ends with \(blank.blankName)", "remove it"))
        return nil
      }
      return (bytes, place)
    case .content(let source):
      return secretBytes(source, at: place, name: name, isDocument: isDocument).map { ($0, place) }
    case .list: return nil
    }
  }

  /// The source of a setting whose value is the content of a file or a variable, and the setting's position.
  /// Nil if it is not set, or is not a valid path.
  package mutating func source(
    _ typed: TypedSetting<String>
  ) -> (source: ContentSource, place: DocumentPlace)? {
    guard let entry = partial.entries[typed.setting], case .content(let source) = entry.content else {
      return nil
    }
    guard case .file(let path) = source else { return (source, entry.place) }
    do {
      return (.file(try typed.read(path)), entry.place)
    } catch {
      problems.add(entry.place, typed.setting.name, error)
      return nil
    }
  }

  /// The source of a content that a mapping names, such as a caller or a chat desk: the file under the key
  /// that ends in `_file`, or the variable under the key that ends in `_variable`. Both together are a
  /// problem.
  mutating func source(
    _ typed: TypedSetting<String>, in members: inout MappingReader
  ) -> PlacedSource? {
    let key = typed.key()
    let variableKey = typed.setting.variableKey
    let variable = variableKey.flatMap { members.value($0) }
    if let name = variableKey?.name, members.has(name), members.has(key.name) {
      members.report(
        Refusal(at: name, "is set, and so is \(members.name(of: key.name))", "keep one of the two"))
    }
    if let path = members.value(key), let place = members.node[key.name]?.place {
      return PlacedSource(source: .file(path), place: place, name: members.name(of: key.name))
    }
    if let key = variableKey, let variable, let place = members.node[key.name]?.place {
      return PlacedSource(source: .variable(variable), place: place, name: members.name(of: key.name))
    }
    return nil
  }

  /// The content of a file or a variable.
  package mutating func content(
    of source: ContentSource, at place: DocumentPlace, name: String, limit: Int
  ) -> [UInt8]? {
    switch source {
    case .file(let path): return file(path, at: place, name: name, limit: limit)?.bytes
    case .variable(let variable): return content(ofVariable: variable, at: place, name: name)
    }
  }

  /// The PEM text of certificates. In a variable, its line breaks may be escaped, as in a key. A binary file
  /// of certificates is a problem, whose remedy is the command that converts it.
  package mutating func certificates(
    in source: ContentSource, at place: DocumentPlace, name: String, limit: Int = maximumDocumentBytes
  ) -> [UInt8]? {
    guard let bytes = content(of: source, at: place, name: name, limit: limit) else { return nil }
    if case .variable = source { return PEMText.withLineBreaks(bytes) }
    if let other = PEMText.otherForm(bytes) {
      problems.add(place, name, Refusal("names \(other.name), and not certificates as PEM", other.remedy))
      return nil
    }
    return bytes
  }

  private mutating func content(
    ofVariable variable: String, at place: DocumentPlace, name: String
  ) -> [UInt8]? {
    guard let text = sources.environment[variable] else {
      problems.add(
        place, name,
        Refusal("names the variable \(variable), which is not set", "set it, or correct the name"))
      return nil
    }
    var bytes = Array(text.utf8)
    bytes.dropByteOrderMark()
    bytes.dropFinalLineFeed()
    guard !bytes.isEmpty else {
      problems.add(place, name, Refusal("names the variable \(variable), which is empty", "fill it in"))
      return nil
    }
    return bytes
  }

  /// The content of a secret's file or variable, without one final line feed. A further blank at the end
  /// counts as part of the secret, which is rarely intended. It is a problem in a variable, and causes a
  /// notice for a file.
  ///
  /// - Parameter isDocument: Whether blanks at the end do not count, as in PEM and JSON.
  mutating func secretBytes(
    _ source: ContentSource, at place: DocumentPlace, name: String, isDocument: Bool = false
  ) -> [UInt8]? {
    let bytes: [UInt8]? =
      switch source {
      case .file(let path): secretBytes(path, at: place, name: name)
      case .variable(let variable): content(ofVariable: variable, at: place, name: name)
      }
    guard !isDocument, let blank = bytes?.finalBlank else { return bytes }
    switch source {
    case .file:
      problems.note(
        place, "\(source.shown) ends with \(blank.blankName), which counts as part of the secret; remove it")
      return bytes
    case .variable:
      problems.add(
        place, name, Refusal("names \(source.shown), which ends with \(blank.blankName)", "remove it"))
      return nil
    }
  }

  /// The content of a secret's file, without a final newline. A file that other users can read causes a
  /// notice.
  private mutating func secretBytes(_ path: String, at place: DocumentPlace, name: String) -> [UInt8]? {
    guard !path.utf8.contains(0x0A), !path.contains("-----BEGIN") else {
      problems.add(
        place, name,
        Refusal(
          "contains a key, not the path of a file", "name a file here, or set the variable without _FILE"))
      return nil
    }
    guard var content = file(path, at: place, name: name, limit: Self.maximumSecretBytes) else { return nil }
    if content.isOpen {
      problems.note(
        place, "\(quoted(path: path)) can be read by others (mode \(Self.octal(content.mode))); chmod 600 it")
    }
    content.bytes.dropFinalLineFeed()
    guard !content.bytes.isEmpty else {
      problems.add(
        place, name, Refusal("names \(Self.shown(path)), which is empty", "put the secret into the file"))
      return nil
    }
    return content.bytes
  }

  /// The content of a file. Records its stamp in `files`, so that the server can watch it for changes.
  package mutating func file(
    _ path: String, at place: DocumentPlace, name: String, limit: Int
  ) -> ConfigurationFiles.Content? {
    guard !path.hasPrefix("~") else {
      problems.add(place, name, NameText.tilde)
      return nil
    }
    do {
      let content = try sources.files.read(path, limit)
      files[path] = content.stamp
      return content
    } catch {
      files[path] = .missing
      let remedy =
        switch error {
        case .missing:
          if let blank = path.finalBlank {
            "remove \(NameText.blank(blank)) at the end of the path"
          } else if path.hasPrefix("/") {
            "check the path"
          } else {
            "check the path; it is relative to the working directory"
          }
        case .directory: "name a file in it"
        case .irregular: "write it into a file"
        case .tooLarge: "name another file"
        case .utf16: "save the file as UTF-8"
        case .system: "make the file readable for the user the server runs as"
        }
      problems.add(place, name, Refusal("cannot read \(Self.shown(path)): \(error)", remedy))
      return nil
    }
  }

  /// A path for messages. A long path is not shown, because it may be a key pasted into the wrong variable.
  private static func shown(_ path: String) -> String {
    path.utf8.count <= 128 ? quoted(path: path) : "the file it names"
  }

  private static func octal(_ mode: UInt32) -> String {
    let digits = String(mode & 0o777, radix: 8)
    return "0" + String(repeating: "0", count: 3 - digits.count) + digits
  }
}

/// The source of a content, with the position and name of the setting that names it.
struct PlacedSource {
  let source: ContentSource
  let place: DocumentPlace
  let name: String
}
