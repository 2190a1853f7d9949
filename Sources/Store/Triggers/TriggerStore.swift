// The protocol for the triggers that were registered with Talkdesk, which documents no list of them.

import JSON

/// A trigger that was registered.
public struct StoredTrigger: Hashable, Sendable {
  /// Talkdesk's name of the trigger.
  public let name: String
  /// Talkdesk's id of the registration.
  public let id: String
  /// Identifies the URL and the template that were registered.
  public let mark: String

  /// A registration.
  public init(name: String, id: String, mark: String) {
    self.name = name
    self.id = id
    self.mark = mark
  }

  /// Reads a value of `callgate_meta`; nil for one that no release wrote.
  package init?(_ name: String, stored text: String) {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: Array(text.utf8))
    } catch {
      return nil
    }
    guard name.hasPrefix(Self.prefix), let id = value["id"]?.string, let mark = value["mark"]?.string else {
      return nil
    }
    self.init(name: String(name.dropFirst(Self.prefix.count)), id: id, mark: mark)
  }

  /// What its name in `callgate_meta` begins with.
  package static let prefix = "trigger "
  /// Its name in `callgate_meta`.
  package static func storedName(_ name: String) -> String { prefix + name }

  /// Its value in `callgate_meta`.
  package var stored: String {
    let object: JSONObject = ["id": .string(id), "mark": .string(mark)]
    return String(decoding: object.serialized(), as: UTF8.self)
  }
}

/// A store that knows which triggers are registered. It has one registration for each name.
public protocol TriggerStore: Sendable {
  /// The registered triggers, by name.
  func triggers() async throws(StoreError) -> [StoredTrigger]

  /// Saves a registration, in place of the one with its name.
  func save(_ trigger: StoredTrigger) async throws(StoreError)

  /// Forgets a registration.
  func forgetTrigger(_ name: String) async throws(StoreError)
}
