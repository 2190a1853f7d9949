// The protocol for the triggers that the server has registered with Talkdesk. The store remembers them,
// because Talkdesk documents no way to list them.

import JSON

/// A trigger that the server has registered with Talkdesk.
public struct StoredTrigger: Hashable, Sendable {
  /// Talkdesk's name for the trigger.
  public let name: String
  /// Talkdesk's id for the registration.
  public let id: String
  /// A hash of the URL, the secret and the template that were registered.
  public let mark: String

  public init(name: String, id: String, mark: String) {
    self.name = name
    self.id = id
    self.mark = mark
  }
}

extension StoredTrigger: NamedValue {
  static let prefix = "trigger "
  var members: JSONObject { ["id": .string(id), "mark": .string(mark)] }
  init?(_ name: String, _ members: JSONValue) {
    guard let id = members["id"]?.string, let mark = members["mark"]?.string else { return nil }
    self.init(name: name, id: id, mark: mark)
  }
}

/// A store of the registered triggers, one registration for each name.
public protocol TriggerStore: Sendable {
  /// The registered triggers, ordered by name.
  func triggers() async throws(StoreError) -> [StoredTrigger]

  /// Saves a registration, and replaces the earlier one with its name.
  func save(_ trigger: StoredTrigger) async throws(StoreError)

  /// Deletes the registration with a name.
  func forgetTrigger(_ name: String) async throws(StoreError)
}
