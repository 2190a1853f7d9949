// The ticket that a chat desk opened, as saved in the record of its request.

import JSON

/// A ticket in the record of its request. It has no id until the desk has accepted the request.
public struct StoredTicket: Hashable, Sendable {
  /// The ticket after the desk has accepted the request.
  public struct Opened: Hashable, Sendable {
    /// The ticket's id at the desk.
    public let id: String
    /// The URL of the ticket's channel.
    public let channelURL: String
    /// Whether the first message was certainly sent. False if that is unknown, and if the request had none.
    public let isMessageSent: Bool

    public init(id: String, channelURL: String, isMessageSent: Bool) {
      self.id = id
      self.channelURL = channelURL
      self.isMessageSent = isMessageSent
    }
  }

  /// The ticket at the desk; nil if it is not known.
  public let opened: Opened?

  public init(_ opened: Opened? = nil) { self.opened = opened }

  /// Reads the column `ticket`. An unreadable value still marks the record as a ticket.
  package init(stored text: String) {
    self.init(Opened(stored: text))
  }

  /// The content of the column `ticket`.
  package var stored: String {
    var object = JSONObject()
    if let opened {
      object.append("id", .string(opened.id))
      object.append("channel_url", .string(opened.channelURL))
      object.append("message_sent", .bool(opened.isMessageSent))
    }
    return String(decoding: object.serialized(), as: UTF8.self)
  }
}

extension StoredTicket.Opened {
  /// Nil for a ticket without an id, and for a text that no release wrote.
  fileprivate init?(stored text: String) {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: Array(text.utf8))
    } catch {
      return nil
    }
    guard let object = value.object, let id = object["id"]?.string,
      let channelURL = object["channel_url"]?.string
    else { return nil }
    self.init(id: id, channelURL: channelURL, isMessageSent: object["message_sent"] == true)
  }
}
