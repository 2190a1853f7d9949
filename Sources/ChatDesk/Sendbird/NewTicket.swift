// A ticket that a user wants to open, and what a desk makes of it.

package import Tokens

/// A ticket, checked by the endpoint that takes it.
package struct NewTicket: Sendable {
  /// How urgent a ticket is.
  package enum Priority: String, CaseIterable, Sendable {
    case low = "LOW"
    case medium = "MEDIUM"
    case high = "HIGH"
    case urgent = "URGENT"
  }

  /// A field of the desk, by its key there. The desk drops keys that its dashboard does not know.
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
  /// The name that agents see: the nickname of the Sendbird user, where the user is created by this ticket.
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

/// A user's id as a customer of the desk. Only a `TicketSource` gets one.
package struct CustomerID: Sendable { let number: Int64 }

/// A ticket that the desk has created.
package struct OpenedTicket: Sendable {
  /// Its id at the desk.
  package let id: String
  /// The channel of its conversation.
  package let channelURL: String
}

/// What came of the one request that creates a ticket.
package enum TicketOutcome: Sendable {
  /// The desk created it.
  /// - isMessageSent: Whether its first message was sent, too.
  case opened(OpenedTicket, isMessageSent: Bool)
  /// It certainly did not.
  case notOpened(Reason)
  /// It may have. The value says whether the desk responded.
  case unknown(isAnswered: Bool)

  /// Why the desk created nothing.
  package enum Reason: Sendable {
    /// It refuses this ticket.
    case rejected
    /// It does not serve the server at the moment, or not with this credential.
    case failed(TokenError)
    /// There was no time left to ask it.
    case late
  }
}
