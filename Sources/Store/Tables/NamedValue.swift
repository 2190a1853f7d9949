// Values of `callgate_meta` of which there are several: registered triggers and the ends of audit chains.

import JSON

/// A JSON object in `callgate_meta`, under its kind's prefix and its own name.
protocol NamedValue: Sendable {
  /// What the names of its kind begin with.
  static var prefix: String { get }
  /// Its name among those of its kind.
  var name: String { get }
  /// What is stored.
  var members: JSONObject { get }
  /// Reads what is stored; nil for what no release wrote.
  init?(_ name: String, _ members: JSONValue)
}

extension NamedValue {
  /// The name in `callgate_meta` of the value of that name.
  static func storedName(_ name: String) -> ColumnValue { .text(prefix + name) }

  var stored: ColumnValue { .text(String(decoding: members.serialized(), as: UTF8.self)) }

  init?(storedName: String, _ text: String) {
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue(parsing: Array(text.utf8)) } catch { return nil }
    guard storedName.hasPrefix(Self.prefix) else { return nil }
    self.init(String(storedName.dropFirst(Self.prefix.count)), value)
  }
}
