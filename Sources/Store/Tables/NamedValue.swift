// Named JSON values in the table `callgate_meta`: registered triggers and the ends of audit chains.

import JSON

/// A JSON object in the table `callgate_meta`, under the prefix of its kind and its own name.
protocol NamedValue: Sendable {
  /// The prefix of the names of this kind in `callgate_meta`.
  static var prefix: String { get }
  /// The name without the prefix.
  var name: String { get }
  /// The members of the stored object.
  var members: JSONObject { get }
  /// Reads the stored object; nil for an object that no release wrote.
  init?(_ name: String, _ members: JSONValue)
}

extension NamedValue {
  /// The name in `callgate_meta`: the prefix and the name.
  static func storedName(_ name: String) -> ColumnValue { .text(prefix + name) }

  var stored: ColumnValue { .text(String(decoding: members.serialized(), as: UTF8.self)) }

  init?(storedName: String, _ text: String) {
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue(parsing: Array(text.utf8)) } catch { return nil }
    guard storedName.hasPrefix(Self.prefix) else { return nil }
    self.init(String(storedName.dropFirst(Self.prefix.count)), value)
  }
}
