// The record of an app's request to become an installation, which an operator approves or denies.

public import Gate
public import JOSE
public import Texts

/// A request for an installation that an operator approves or denies by its user code.
public struct Enrolment: Hashable, Sendable {
  public enum State: String, Sendable, CaseIterable {
    /// The request waits for an operator.
    case pending
    /// An operator approved it. The next poll delivers the secret.
    case approved
    /// An operator denied it.
    case denied
    /// The secret was delivered.
    case delivered
    /// Another secret was delivered for the same installation id, or the installation id was revoked, with or
    /// without an installation.
    case ended
  }

  /// SHA-256 of the `request_id`, which only the app has.
  public let request: SHA256Digest
  /// The app's description of itself.
  public let client: InstallationClient
  /// The id of the configured app.
  @Exact public private(set) var appID: String
  /// The thumbprint of the phone's key (RFC 7638), which each poll has to prove; nil without a key.
  public let key: SHA256Digest?
  /// The code that the customer reads to the operator: eight letters.
  public let userCode: String
  /// The address that the request came from, as text.
  public let address: String
  /// When the request arrived.
  public let createdAt: Instant
  /// The time from which the request can no longer be approved or delivered.
  public let expiresAt: Instant
  /// The time from which the store may delete the request.
  public let forgottenAt: Instant
  /// When a poll last got the response that the request is pending; before the first such poll, when the
  /// request arrived.
  public var answeredAt: Instant
  public var state: State
  /// The name of the App Attest key that the installation will have; nil without one.
  public let attestedKey: SHA256Digest?
  /// The operator who approved or denied the request. Nil before that, and for rows of earlier releases.
  public var by: Operator.Identity?

  public init(
    request: SHA256Digest, client: InstallationClient, appID: String, userCode: String, address: String,
    createdAt: Instant, expiresAt: Instant, forgottenAt: Instant, answeredAt: Instant, state: State,
    attestedKey: SHA256Digest?, key: SHA256Digest?, by: Operator.Identity? = nil
  ) {
    self.by = by
    self.key = key
    self.request = request
    self.client = client
    self.appID = appID
    self.userCode = userCode
    self.address = address
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.forgottenAt = forgottenAt
    self.answeredAt = answeredAt
    self.state = state
    self.attestedKey = attestedKey
  }

  /// Whether the request can still be approved, denied or delivered.
  public func isLive(at now: Instant) -> Bool { (state == .pending || state == .approved) && now < expiresAt }
}
