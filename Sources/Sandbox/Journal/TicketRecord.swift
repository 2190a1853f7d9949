// The emulator's record of one ticket of Sendbird Desk.

import JSON
import Platform

/// A ticket that the emulated desk has opened, as `GET /_sandbox/tickets` shows it.
struct TicketRecord: Sendable {
  /// The time at which the ticket was opened.
  var time: UnixTime
  var id: Int64
  var channelURL: String
  /// The Sendbird ID of the user who has the ticket.
  var userID: String
  /// The name of that user.
  var nickname: String
  /// The content of the request that opened the ticket.
  var content: JSONObject
  /// The first 10 messages in the ticket's channel.
  var messages: [String] = []

  var json: JSONValue {
    var members: JSONObject = [
      "time": .string(time.rfc3339), "id": .number(JSONNumber(id)), "channel_url": .string(channelURL),
      "user_id": .string(userID.shortened), "nickname": .string(nickname.shortened),
    ]
    for name in ["channelName", "customFields", "priority", "groupKey", "relatedChannelUrls"] {
      if let value = content[name] { members.append(name, value) }
    }
    members.append("messages", .array(messages.map { .string($0) }))
    return .object(members)
  }
}
