// The report of a test call: its lines for people, its exit status and its facts.

import Callbacks
import Gate
import HTTP
import Platform
import Talkdesk
import Texts
import Tokens
import Upstream

/// The result of a test call. Contains no token and no full phone number.
public struct DrillReport: Sendable {
  /// The outcome, for the exit status.
  public enum Verdict: Sendable {
    /// Talkdesk accepted the callback.
    case accepted
    /// Talkdesk refused the credential or the callback. A callback that gets 429 counts as refused.
    case refused
    /// Talkdesk was not reached, is unavailable, limits token requests, or returned an undocumented or
    /// unusable response; or the token request could not be signed; or the outcome is unknown.
    case unavailable
    /// A fault of this program.
    case `internal`
  }

  public let verdict: Verdict
  /// The account's response, as names with their texts in the order in which they are printed.
  public let lines: [(name: String, text: String)]
  /// The conclusion and, if there is something to do, the next step, in one or two lines.
  public let closing: [String]
  /// The content for `--facts`; nil if the Callback API did not respond.
  public let facts: [UInt8]?

  /// The content for `--facts` with the events of the call; nil if `facts` is nil.
  ///
  /// - Parameter events: A JSON array, such as `DrillWatch.events`.
  public func facts(withEvents events: [UInt8]) -> [UInt8]? {
    facts.map { facts in
      // The facts are an object and a line feed.
      Array(facts.dropLast(2)) + Array(#","events":"#.utf8) + events + Array("}\n".utf8)
    }
  }

  /// The report if the HTTP client could not be created: nothing was sent.
  init(noClient words: String) {
    verdict = .internal
    lines = []
    closing = ["Could not set up the HTTP client: \(words).", "No callback was sent."]
    facts = nil
  }

  /// The report if Talkdesk ID issued no token: nothing was sent to the Callback API.
  init(noToken error: TokenExchangeError) {
    verdict =
      switch error {
      case .refused, .unusableReply(.scope): .refused
      case .rateLimited, .unavailable, .redirected, .failed, .unusableReply, .timedOut, .transport,
        .signingFailed, .signer:
        .unavailable
      }
    lines = []
    let words = "\(error)"
    closing = [
      words.utf8.last == UInt8(ascii: "?") ? words : "\(words).",
      "No callback was sent. Run callgate doctor to see what to fix.",
    ]
    facts = nil
  }

  /// The report on a callback that was sent, or that could not be sent.
  init(
    _ report: CallbackReport, _ response: ResponseRecorder.Response?, token: AccessToken,
    request: CallbackRequest, api host: String
  ) {
    verdict = Self.verdict(status: report.status ?? 0)
    let mask = DrillMask(token: token, request)
    let facts = response.map { DrillFacts($0, traceID: report.platformTID, token: token, mask) }
    self.facts = facts?.serialized
    lines = Self.lines(report, facts, token, mask, host: host)
    closing = Self.closing(report.outcome, request)
  }

  /// The verdict on a response's status; 0 if there was no response. Refusals are the errors that Talkdesk
  /// documents as refusals. After any other error a later request may succeed, or the outcome is unknown.
  private static func verdict(status: Int) -> Verdict {
    switch status {
    case 200..<300: .accepted
    case 400, 401, 403, 415, 422, 429: .refused
    default: .unavailable
    }
  }

  private static func lines(
    _ report: CallbackReport, _ facts: DrillFacts?, _ token: AccessToken, _ mask: DrillMask, host: String
  ) -> [(name: String, text: String)] {
    var lines: [(name: String, text: String)] = []
    if let facts {
      lines.append(("status", "\(facts.status)" + (facts.contentType.map { ", \($0)" } ?? "")))
      lines.append(
        ("body", facts.content.map { $0.isEmpty ? "none" : shown($0) } ?? "incomplete"))
      for field in facts.fields { lines.append(("header", "\(field.name): \(field.value)")) }
      if !facts.dropped.isEmpty { lines.append(("dropped", shown(facts.dropped.joined(separator: ", ")))) }
      if let traceID = facts.traceID { lines.append(("trace id", traceID)) }
      if let steps = facts.durations {
        let words = steps.map { "\($0.name == "first_byte" ? "first byte" : $0.name) \($0.milliseconds) ms" }
        lines.append(("time", words.joined(separator: ", ")))
      }
    } else {
      lines.append(("status", "none: \(cause(report.outcome, host))"))
      lines.append(("time", "\(report.duration.wholeMilliseconds) ms"))
    }
    let life =
      token.lifetime.map { "expires in \($0.components.seconds) s" } ?? "Talkdesk did not say when it expires"
    lines.append(("token", life))
    let scope = mask.own(token.scope)
    lines.append(("scopes", token.statesScope ? scope : "\(scope) (as requested; Talkdesk named none)"))
    return lines
  }

  private static func cause(_ outcome: CallbackOutcome, _ host: String) -> String {
    switch outcome {
    case .unreachable(let error), .unanswered(let error): error.words(about: host)
    case .accepted, .rejected, .unauthorized, .forbidden, .rateLimited, .unavailable, .refused, .unclear:
      "no status was received"
    }
  }

  private static func closing(_ outcome: CallbackOutcome, _ request: CallbackRequest) -> [String] {
    let uncalled = "No call was requested."
    return switch outcome {
    case .accepted:
      ["Talkdesk accepted the callback. \(request.contactNumber.masked) rings once an agent accepts it."]
    case .rejected:
      [
        "Talkdesk rejected the request. \(uncalled)",
        "Check that \(request.talkdeskNumber.masked) is a number of this account. See the response body above.",
      ]
    case .unauthorized:
      [
        "Talkdesk rejected the token. \(uncalled)",
        "Check that TD_REGION and TD_API_URL belong to the account.",
      ]
    case .forbidden:
      [
        "Talkdesk does not allow this client to request callbacks. \(uncalled)",
        "Give the OAuth client the scope callback:write, or ask Talkdesk to allow callbacks for the account.",
      ]
    case .rateLimited(let wait):
      ["Talkdesk is limiting requests (429). \(uncalled)", "Wait \(seconds(wait)) before you try again."]
    case .unavailable(let wait):
      ["Talkdesk is unavailable (503). \(uncalled)", "Wait \(seconds(wait)) before you try again."]
    case .unreachable:
      ["The request was not sent. \(uncalled)", "Check TD_API_URL and the network, and try again."]
    case .refused:
      [
        "Talkdesk rejected the request. \(uncalled)",
        "Check TD_API_URL: write the base URL, without /calls/callback.",
      ]
    case .unclear, .unanswered:
      [
        "It is unknown whether Talkdesk accepted the callback: the phone may ring.",
        "Do not repeat the test call right away. Wait until you know whether the phone rang.",
      ]
    }
  }

  private static func seconds(_ wait: Duration?) -> String {
    wait.map { "\($0.components.seconds) s" } ?? "some minutes"
  }

  /// A text on one line, for a terminal: characters that would control it are written as code points, and a
  /// long text is cut.
  private static func shown(_ text: String) -> String {
    let start = String(text.unicodeScalars.prefix(2000)).replacing("\n", with: " ")
    return start.withSteeringEscaped + (text.unicodeScalars.count > 2000 ? "…" : "")
  }
}

extension Duration {
  /// The nearest whole number of milliseconds.
  var wholeMilliseconds: Int64 {
    Int64(clamping: (attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000)
  }
}
