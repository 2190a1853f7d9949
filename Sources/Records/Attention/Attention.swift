// A problem that the server has now, in words for operators.

package import Platform

/// A present problem: its cause, when it began, how many requests it affected, and what to do.
package struct Attention: Sendable {
  /// The kinds of problems, the most urgent first. Lists have this order.
  package enum Code: String, CaseIterable, Sendable {
    /// The store cannot be read or written.
    case store
    /// Audit lines cannot be written.
    case audit
    /// This machine's clock differs from the store's, or the two have not been compared yet.
    case clock
    /// Talkdesk ID refuses the credential or a scope, or its assertion cannot be signed, for example because
    /// Vault or OpenBao refuses this server.
    case credential
    /// Talkdesk ID, or the service that signs for it (Vault or OpenBao), fails or asks for a pause.
    case talkdeskID = "talkdesk_id"
    /// The Callback API fails or asks for a pause.
    case callbackAPI = "callback_api"
    /// A stop by an operator.
    case stop
    /// A brake refuses callbacks.
    case brake
    /// A quota refuses requests: for everybody, a caller or an app.
    case quota
    /// A rate limit refuses requests: for everybody, a caller or an app.
    case rate
    /// A chat desk fails.
    case desk
    /// The server cannot look numbers up before calls.
    case screening
    /// A push notification provider is stopped, paused or failing.
    case push
    /// The keys of an issuer of callers' or operators' tokens are missing or old.
    case issuer
    /// The server cannot verify attestations or consume App Check tokens, or could not renew App Check's
    /// keys.
    case attestation
    /// The new configuration was rejected or needs a restart, or the current one does not trust a proxy in
    /// front of the server.
    case configuration
    /// Talkdesk ID refuses the next key of a rotation.
    case nextKey = "next_key"
    /// Appointments are due and no instance carries them out.
    case appointments
    /// The certificate that clients see expires soon, or has expired.
    case certificate
    /// Log or audit lines were lost.
    case log
    /// The outcome of callbacks of the last 24 hours is unknown.
    case unknownCallbacks = "unknown_callbacks"
    /// The outcome of tickets of the last 24 hours is unknown.
    case unknownTickets = "unknown_tickets"

    /// Whether the problem concerns a service that the server calls. `/readyz` then warns.
    package var concernsUpstream: Bool {
      switch self {
      case .credential, .talkdeskID, .callbackAPI, .desk, .screening, .push, .issuer, .attestation, .nextKey:
        true
      case .store, .audit, .clock, .stop, .brake, .quota, .rate, .configuration, .appointments, .certificate,
        .log, .unknownCallbacks, .unknownTickets:
        false
      }
    }

    /// The problem's section in the runbook, docs/operate/runbook.md.
    package var section: String {
      switch self {
      case .store: "callgatestoredown"
      case .audit: "audit-lines-cannot-be-written"
      case .clock: "callgateclock"
      case .credential, .nextKey: "callgatecredentialrefused"
      case .talkdeskID, .callbackAPI, .desk: "callgatetalkdeskunavailable"
      case .stop: "callgatestopped"
      case .brake: "callgatebrakeusedup"
      case .quota, .rate: "a-quota-or-rate-limit-is-used-up"
      case .screening: "numbers-cannot-be-screened"
      case .push: "callgatenoticesstopped"
      case .issuer: "keys-of-an-identity-provider"
      case .attestation: "attestations-cannot-be-verified"
      case .configuration: "callgateconfigurationrefused"
      case .appointments: "callgateappointmentsbacklog"
      case .certificate: "callgatecertificateexpires"
      case .log: "callgateloglineslost"
      case .unknownCallbacks: "callgatecallbacksunknown"
      case .unknownTickets: "callgateticketsunknown"
      }
    }

    /// The problem's position in lists.
    package var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// The maximum number of problems in a list.
  package static let most = 100

  package let code: Code
  /// When the problem began.
  package let since: UnixTime
  /// When the problem ends, or when the server tries again; nil if that is not known. For a certificate, when
  /// it expires.
  package var until: UnixTime?
  /// How many requests the problem affected since then, in this instance. For some codes, the number of push
  /// notifications, lost lines, overdue appointments or records instead.
  package let count: Int
  /// The cause and its effect, in one to three sentences.
  package let text: String
  /// What to do, in one to three sentences.
  package let action: String

  package init(
    _ code: Code, since: UnixTime, until: UnixTime? = nil, count: Int, _ text: String, action: String
  ) {
    self.code = code
    self.since = since
    self.until = until
    self.count = count
    self.text = text
    self.action = action
  }
}
