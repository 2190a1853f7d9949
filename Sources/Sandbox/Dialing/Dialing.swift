// Connects the emulated Talkdesk to a gateway's webhook for call events.

public import JOSE

/// The gateway's webhook for call events, and a way to find the callback that an event is about.
public struct Dialing: Sendable {
  /// A callback's record at the gateway.
  public struct Callback: Sendable {
    /// The emulator's trace id; nil if its response did not reach the gateway.
    public let traceID: String?
    /// The callback's phone number, masked.
    public let contact: String

    public init(traceID: String?, contact: String) {
      self.traceID = traceID
      self.contact = contact
    }
  }

  /// The scheme of the webhook's URL: `http` or `https`.
  let scheme: String
  /// The webhook's path, which contains a secret.
  let path: Secret
  /// The token in every event.
  let token: Secret
  /// Finds a callback by the gateway's id.
  let find: @Sendable (String) async -> Callback?
  /// Sends an event and ignores the response.
  let post: @Sendable (_ url: String, _ content: [UInt8]) async -> Void

  public init(
    scheme: String, path: Secret, token: Secret, find: @escaping @Sendable (String) async -> Callback?,
    post: @escaping @Sendable (_ url: String, _ content: [UInt8]) async -> Void
  ) {
    self.scheme = scheme
    self.path = path
    self.token = token
    self.find = find
    self.post = post
  }
}
