// The settings of screening: which results of phone validation, and which do-not-call lists, refuse a number.

public import Gate
import JOSE
public import Tokens

/// The results of lookups at Talkdesk that refuse a number.
public struct ScreeningSettings: Sendable {
  /// The results of phone validation that refuse a number.
  public struct Refusals: Sendable {
    /// The statuses that refuse a number: lowercase words, such as `high_risk`.
    public var statuses: [String] = []
    /// The line types that refuse a number, as configured, such as `premium_rate`.
    public var lineTypes: [String] = []
    public var tcpaBlacklist = false
    /// The lowest score that refuses; nil for none.
    public var fraudScore: Int64?

    public init() {}

    /// Whether nothing is refused.
    public var isEmpty: Bool {
      statuses.isEmpty && lineTypes.isEmpty && !tcpaBlacklist && fraudScore == nil
    }
  }

  /// The results of phone validation that refuse a number; nil without phone validation.
  public var validation: Refusals?
  /// The ids of the do-not-call lists.
  public var lists: [String]
  /// The time zone of entries' expiration dates.
  public var zone: Zone
  /// How long a verdict is saved. With zero, no verdict is saved.
  public var remember: Duration
  /// The API's base URL. If nil, the one for callbacks.
  public var url: String?

  public init(
    validation: Refusals? = nil, lists: [String] = [], zone: Zone = .utc,
    remember: Duration = .seconds(30 * 86_400), url: String? = nil
  ) {
    self.validation = validation
    self.lists = lists
    self.zone = zone
    self.remember = remember
    self.url = url
  }

  /// The scopes that the lookups need.
  public var scopes: [OwnScope] {
    (validation == nil ? [] : [.phoneValidation]) + (lists.isEmpty ? [] : [.doNotCall])
  }

  /// The first 8 octets of the SHA-256 of all settings that a verdict and its life depend on. After a change,
  /// numbers are looked up again.
  public var fingerprint: Int64 {
    var parts = [zone.name, "\(remember.components.seconds)", url ?? ""] + lists
    if let validation {
      parts += ["validation"] + validation.statuses + ["line_type"] + validation.lineTypes
      parts += ["\(validation.tcpaBlacklist)", validation.fraudScore.map { "\($0)" } ?? ""]
    }
    let digest = SHA256Digest(of: Array(parts.joined(separator: "\u{0}").utf8)).bytes
    return digest.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
  }
}
