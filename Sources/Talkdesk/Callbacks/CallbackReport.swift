// Reports one request to the Callback API for the record, log and metrics, without any secret.

/// The report of one request to the Callback API, for the record, logs and metrics. Contains no token and no
/// phone number.
public struct CallbackReport: Sendable {
  public var outcome: CallbackOutcome
  /// The reply's status; nil if no reply arrived.
  public var status: Int?
  /// Talkdesk's trace id, `platform-tid`, which its support asks for.
  public var platformTID: String?
  /// The error body's `code`, at most 64 octets of `A–Z a–z 0–9 _ - . *`.
  public var code: String?
  /// The error body's `message`, bounded and printable: only for debug logs.
  public var message: String?
  /// How long the request took.
  public var duration: Duration
}
