// Requests one real callback, to learn how an account responds before customers depend on it.

import API
import Callbacks
import Callers
public import Configuration
import Gate
import HTTP
import JSON
import Platform
import Talkdesk
import Tokens
import Upstream

/// Requests one callback from Talkdesk with the configured credential, and records the response.
///
/// The test call gets its token as the server does. It sends the callback at most once, whatever the
/// response: it neither renews the token nor retries. The server's own code makes the content. The number
/// ranges that the server refuses by default are refused here too. Rules, safety limits (`brakes`) and stops
/// do not apply.
public struct Drill: Sendable {
  /// The reason why no callback can be sent.
  public enum Obstacle: Error, Hashable, Sendable, CustomStringConvertible {
    /// The configuration names no number of the account.
    case noTalkdeskNumber
    /// The number to call is in a refused range, for this reason.
    case refusedNumber(reason: String)

    public var description: String {
      switch self {
      case .noTalkdeskNumber:
        "no Talkdesk number is configured — set TD_PHONE_NUMBER, or callbacks.talkdesk_phone_numbers"
      case .refusedNumber(let reason):
        "Callgate does not call this number: it \(reason). Nothing was sent."
      }
    }
  }

  let configuration: Configuration
  let upstream: Configuration.Upstream
  let request: CallbackRequest

  /// The mistake in a phone number, as a sentence; nil if the number is valid.
  public static func fault(inPhone text: String) -> String? {
    do throws(E164Error) {
      _ = try E164(text)
      return nil
    } catch {
      return error.correction
    }
  }

  /// Prepares a callback. Nothing is sent.
  ///
  /// - Parameters:
  ///   - configuration: A configuration that was loaded for fetching a token.
  ///   - phone: The number to call. `fault(inPhone:)` must return nil for it.
  public init(_ configuration: Configuration, phone: String) throws(Obstacle) {
    guard let upstream = configuration.talkdesk.upstream else {
      preconditionFailure("a configuration for fetching a token without an upstream")
    }
    // Requests without an app use the server's own numbers. A configuration may give numbers to apps only.
    let terms = ([nil] + configuration.apps.map(Optional.some)).lazy.map {
      CallbackTerms(app: $0, configuration)
    }
    guard let number = terms.compactMap(\.talkdeskNumbers.first).first else { throw .noTalkdeskNumber }
    let body = JSONObject(dictionaryLiteral: ("contact_phone_number", .string(phone)))
    do throws(Problem) {
      request = try CallbackRequest(
        parsing: body.serialized(), terms: CallbackTerms(talkdeskNumbers: [number]))
    } catch {
      preconditionFailure("a callback to an E.164 number with a mistake")
    }
    if let reason = NumberRanges.reason(toRefuse: request.contactNumber) {
      throw .refusedNumber(reason: reason)
    }
    self.configuration = configuration
    self.upstream = upstream
  }

  /// The announcement before the call, line by line.
  ///
  /// - Parameter showingNumber: Whether to show the full number to call, for the person who typed it. Other
  ///   numbers are masked.
  public func announcement(showingNumber: Bool = false) -> [String] {
    let number = showingNumber ? request.contactNumber.text : request.contactNumber.masked
    let account =
      if case .account(let region, let name) = TalkdeskHost(url: upstream.tokenURL), !name.isEmpty {
        "account \(name) (region \(region.rawValue))"
      } else {
        "the account at \(TalkdeskHost.host(of: upstream.tokenURL))"
      }
    return [
      "Talkdesk will ring \(number). This is a real call.",
      "It comes from \(request.talkdeskNumber.masked), on \(account).",
      "Your rules, safety limits and pauses do not apply to it.",
    ]
  }

  /// Gets a token and sends the callback.
  /// - Parameter onSending: Called right before the request that may make a phone ring.
  public func run(onSending: @Sendable () -> Void) async -> DrillReport {
    let transport: CurlTransport
    do throws(TransportSetupError) {
      transport = try CurlTransport(TransportSettings(authorities: configuration.authorities))
    } catch {
      return DrillReport(noClient: "\(error)")
    }
    let report = await run(transport: transport, clock: SystemClock(), onSending: onSending)
    await transport.shutdown()
    return report
  }

  /// Gets a token and sends the callback over any transport.
  func run(
    transport: any HTTPTransport, clock: any TimeSource, onSending: @Sendable () -> Void = {}
  ) async -> DrillReport {
    let client: TalkdeskID
    do {
      client = try TalkdeskID(upstream, transport: transport, clock: clock)
    } catch {
      return DrillReport(noClient: "\(error)")
    }
    let scope = configuration.talkdesk.scope
    let token: AccessToken
    do throws(TokenExchangeError) {
      token = try await client.exchange(
        scope: TokenScopes.allowsCallbacks(scope) ? scope : TokenScopes.callbackWrite,
        deadline: clock.now + configuration.tokens.deadline)
    } catch {
      return DrillReport(noToken: error)
    }
    let recorder = ResponseRecorder(transport)
    onSending()
    let report = await CallbackAPI(endpoints: client.endpoints, transport: recorder, time: clock)
      .request(OutboundContent(request.content), token: token, timeout: configuration.callbacks.timeout)
    return DrillReport(
      report, recorder.response, token: token, request: request,
      api: TalkdeskHost.host(of: client.endpoints.apiBase))
  }
}
