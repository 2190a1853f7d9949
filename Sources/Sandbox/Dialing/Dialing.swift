// How the emulated Talkdesk reaches the hook of a gateway, and knows which callback of its is meant.

public import JOSE

/// The gateway's hook for events of calls, as the emulator sees it.
public struct Dialing: Sendable {
  /// A callback's record at the gateway.
  public struct Callback: Sendable {
    /// The emulator's trace id, if its answer arrived.
    public let traceID: String?
    /// The masked number.
    public let contact: String

    /// A record.
    public init(traceID: String?, contact: String) {
      self.traceID = traceID
      self.contact = contact
    }
  }

  /// `http` or `https`.
  let scheme: String
  /// The path of the hook.
  let path: Secret
  /// What each event carries.
  let token: Secret
  /// Finds a callback by the gateway's id.
  let find: @Sendable (String) async -> Callback?
  /// Sends an event, whatever is answered.
  let post: @Sendable (_ url: String, _ content: [UInt8]) async -> Void

  /// A hook.
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
