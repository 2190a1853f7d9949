// A ticket that a user wants to open, and the result of opening it.

package import Tokens

/// A ticket, validated by the endpoint that accepts it.
package struct NewTicket: Sendable {
  /// The urgency of a ticket, in Sendbird's words.
  package enum Priority: String, CaseIterable, Sendable {
    case low = "LOW"
    case medium = "MEDIUM"
    case high = "HIGH"
    case urgent = "URGENT"
  }

  /// A custom field of a ticket, with its key at the desk. The desk drops keys that its dashboard does not
  /// define.
  package struct Field: Sendable {
    let name: String
    let value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  let title: String
  let message: String?
  let customFields: [Field]
  let priority: Priority?
  let groupKey: String?
  let relatedChannels: [String]
  /// The name that agents see: the nickname of the Sendbird user, if this ticket creates the user or the user
  /// has no nickname.
  package let userName: String?

  package init(
    title: String, message: String?, customFields: [Field], priority: Priority?, groupKey: String?,
    relatedChannels: [String], userName: String? = nil
  ) {
    self.title = title
    self.message = message
    self.customFields = customFields
    self.priority = priority
    self.groupKey = groupKey
    self.relatedChannels = relatedChannels
    self.userName = userName
  }
}

/// The ID of a user as a customer of the desk. Only a `TicketSource` returns one.
package struct CustomerID: Sendable { let number: Int64 }

/// A ticket that the desk has created.
package struct OpenedTicket: Sendable {
  /// The ticket's ID at the desk.
  package let id: String
  /// The URL of the conversation's channel.
  package let channelURL: String
}

/// The outcome of the one request that creates a ticket.
package enum TicketOutcome: Sendable {
  /// The desk created the ticket.
  /// - isMessageSent: Whether the first message was certainly sent. False without a message.
  case opened(OpenedTicket, isMessageSent: Bool)
  /// The desk certainly created no ticket.
  case notOpened(Reason)
  /// The desk may have created the ticket. The value says whether the desk responded.
  case unknown(isAnswered: Bool)

  /// The reason why the desk created no ticket.
  package enum Reason: Sendable {
    /// The desk refuses this ticket.
    case rejected
    /// The desk is unavailable at the moment, refuses this server's credential, or sent an error that may
    /// come from a firewall or from something else in its place.
    case failed(TokenError)
    /// No time was left to send the request.
    case late
  }
}
