// The requests to Sendbird Desk that open a ticket: the only file that knows their paths, members and
// replies.

import JSON
import Tokens

/// Sendbird Desk's platform API, as far as tickets need it.
///
/// These requests were written without Sendbird's documentation. They follow public server code that uses
/// them, so they are less certain than those of `SendbirdAPI`. Each detail for which no source was found is a
/// constant here, to be changed in one place.
enum DeskAPI {
  /// The header field with the desk's API token.
  static let tokenField = "SENDBIRDDESKAPITOKEN"
  /// Whether `customFields` is sent as a string that contains a JSON object, as Sendbird's own SDK sends it.
  /// If false, it is sent as an object.
  static let sendsCustomFieldsAsText = true
  /// The member with the URLs of related channels, joined by commas as in Sendbird's own SDK.
  static let relatedChannels = "relatedChannelUrls"

  private static let base = "/platform/v1"

  /// Finds the desk's customer for a user.
  static func customer(of user: UserID) -> SendbirdRequest {
    SendbirdRequest(
      .customer, to: .desk, "\(base)/customers?sendbird_id=\(SendbirdAPI.segment(user.text))")
  }

  /// Creates the desk's customer for a user.
  static func newCustomer(_ user: UserID) -> SendbirdRequest {
    SendbirdRequest(.newCustomer, to: .desk, "\(base)/customers", ["sendbirdId": .string(user.text)])
  }

  /// Creates a ticket for a customer of the desk.
  static func create(_ ticket: NewTicket, for customer: CustomerID) -> SendbirdRequest {
    var content: JSONObject = [
      "channelName": .string(ticket.title), "customerId": .number(JSONNumber(customer.number)),
    ]
    if let group = ticket.groupKey { content.append("groupKey", .string(group)) }
    if !ticket.customFields.isEmpty {
      var fields = JSONObject()
      for field in ticket.customFields { fields.append(field.name, .string(field.value)) }
      let text = JSONValue.string(String(decoding: fields.serialized(), as: UTF8.self))
      content.append("customFields", sendsCustomFieldsAsText ? text : .object(fields))
    }
    if let priority = ticket.priority { content.append("priority", .string(priority.rawValue)) }
    if !ticket.relatedChannels.isEmpty {
      content.append(relatedChannels, .string(ticket.relatedChannels.joined(separator: ",")))
    }
    return SendbirdRequest(.ticket, to: .desk, "\(base)/tickets", content, isAtMostOnce: true)
  }

  /// Sends a ticket's first message as its user. Until then no agent sees the ticket.
  static func firstMessage(_ text: String, of user: UserID, in channelURL: String) -> SendbirdRequest {
    SendbirdRequest(
      .firstMessage, to: .platform, "/v3/group_channels/\(SendbirdAPI.segment(channelURL))/messages",
      ["message_type": "MESG", "user_id": .string(user.text), "message": .string(text)],
      isAtMostOnce: true)
  }

  /// Reads the customer of a user; nil if the desk has none. A customer that names another user is never
  /// returned, even if the desk ignored the query. A customer that names no user is returned only if it is
  /// the only result.
  static func customer(of user: UserID, in content: [UInt8]) throws(UnusableReply) -> CustomerID? {
    guard let results = try object(content)["results"]?.array else { throw .noToken }
    for result in results {
      let name = (result["sendbirdId"] ?? result["sendbird_id"])?.string
      guard name.map({ UserID(text: $0) == user }) ?? (results.count == 1) else { continue }
      // Any number: an id, which is only written.
      guard let id = result["id"]?.int else { throw .noToken }
      return CustomerID(number: id)
    }
    return nil
  }

  /// Reads a created customer.
  static func newCustomer(in content: [UInt8]) throws(UnusableReply) -> CustomerID {
    // Any number: an id, which is only written.
    guard let id = try object(content)["id"]?.int else { throw .noToken }
    return CustomerID(number: id)
  }

  /// Reads a created ticket.
  static func ticket(in content: [UInt8]) throws(UnusableReply) -> OpenedTicket {
    let object = try object(content)
    // Any number: an id, which is only written.
    let id = object["id"]?.int.map { String($0) } ?? object["id"]?.string
    guard let id, let channelURL = object["channelUrl"]?.string, isSound(id), isSound(channelURL) else {
      throw .noToken
    }
    return OpenedTicket(id: id, channelURL: channelURL)
  }

  private static func object(_ content: [UInt8]) throws(UnusableReply) -> JSONObject {
    do {
      if let object = try JSONValue(parsing: content).object { return object }
    } catch {
      // The mistake's position helps no operator.
    }
    throw .notJSON
  }

  private static func isSound(_ text: String) -> Bool {
    (1...512).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
