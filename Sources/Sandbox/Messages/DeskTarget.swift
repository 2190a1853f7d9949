// Reads which resource of the emulated Sendbird Desk a request names.

import HTTP

/// The operation that a request to Sendbird Desk, or to a ticket's channel, names.
enum DeskTarget: Hashable, Sendable {
  /// `GET /platform/v1/customers?sendbird_id=…`.
  case customer(userID: String?)
  /// `POST /platform/v1/customers`.
  case newCustomer
  /// `POST /platform/v1/tickets`.
  case newTicket
  /// `POST /v3/group_channels/{channel_url}/messages`, at Sendbird's host instead of the desk's.
  case message(channelURL: String)

  /// Nil for a request that the emulator does not know.
  init?(_ request: borrowing Request) {
    let segments = request.pathSegments()
    let names = segments.map { request.percentDecoded($0) }
    switch (request.method, names) {
    case (.get, ["platform", "v1", "customers"]):
      if case .value(let id) = request.queryItem("sendbird_id") {
        self = .customer(userID: id)
      } else {
        self = .customer(userID: nil)
      }
    case (.post, ["platform", "v1", "customers"]): self = .newCustomer
    case (.post, ["platform", "v1", "tickets"]): self = .newTicket
    case (.post, let names) where names.count == 4:
      guard names[0] == "v3", names[1] == "group_channels", names[3] == "messages", let url = names[2] else {
        return nil
      }
      self = .message(channelURL: url)
    default: return nil
    }
  }
}
