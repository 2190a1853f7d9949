// Finds, with real requests, the faults that keep a server on this machine from working.

public import Configuration
import HTTP
import JOSE
import Platform
import Synchronization
import Talkdesk
import Tokens
import Upstream

/// Checks everything that a token needs: the configuration, then real exchanges with each credential. Then
/// checks the store, the chat desks, the issuers' keys, the remote policies and the other providers.
///
/// Each exchange is a single request. The doctor never retries, so it also reports temporary failures that
/// the server would hide.
public struct Doctor {
  let configuration: Configuration
  let client: TalkdeskID
  let transport: any HTTPTransport
  let proxies: ProxySettings
  let clock: any TimeSource
  var report = DoctorReport()

  /// The report of a configuration that could not be loaded.
  public static func report(of errors: ConfigurationErrors) -> DoctorReport {
    var report = DoctorReport()
    for problem in errors.problems { report.add(problem) }
    for notice in errors.notices { report.add(notice) }
    report.skip("exchange", "skipped: the configuration has problems")
    return report
  }

  /// Examines a configuration that was loaded for `check`. Sends requests to Talkdesk ID and the other
  /// services.
  public static func examine(_ loaded: LoadedConfiguration) async -> DoctorReport {
    await withTransport(loaded.configuration) { transport, proxies in
      await examine(loaded, transport: transport, proxies: proxies, clock: SystemClock())
    }
  }

  /// Explains how a server with this configuration responds to a user's token. Fetches key sets and sends no
  /// other request.
  ///
  /// - Parameters:
  ///   - token: The token. Blanks around it are ignored.
  ///   - app: The app that the request names; nil for none.
  public static func examine(_ loaded: LoadedConfiguration, token: [UInt8], app: String?) async
    -> DoctorReport
  {
    await withTransport(loaded.configuration) { transport, _ in
      await TokenExamination.report(
        on: token, app: app, loaded.configuration, transport: transport, clock: SystemClock())
    }
  }

  private static func withTransport(
    _ configuration: Configuration, _ body: (any HTTPTransport, ProxySettings) async -> DoctorReport
  ) async -> DoctorReport {
    let transport: CurlTransport
    let proxies: ProxySettings
    do {
      proxies = try .environment()
      transport = try CurlTransport(
        TransportSettings(authorities: configuration.authorities, proxies: proxies))
    } catch {
      var report = DoctorReport()
      report.fail(
        "transport", "the HTTP client cannot be created: \(error)",
        fix: "reinstall libcurl 7.80 or newer, built with OpenSSL", .internal)
      return report
    }
    let report = await body(transport, proxies)
    await transport.shutdown()
    return report
  }

  /// Examines a configuration over a transport that tests can replace.
  static func examine(
    _ loaded: LoadedConfiguration, transport: any HTTPTransport, proxies: ProxySettings, clock: any TimeSource
  ) async -> DoctorReport {
    let upstream = loaded.configuration.talkdesk.upstream
    do {
      var doctor = Doctor(
        configuration: loaded.configuration,
        client: try TalkdeskID(upstream, transport: transport, clock: clock), transport: transport,
        proxies: proxies, clock: clock)
      if let upstream {
        doctor.look(at: upstream, loaded.notices)
        await doctor.ask()
      } else {
        for notice in loaded.notices { doctor.report.add(notice) }
        doctor.report.skip("exchange", "skipped: all apps have chat desks, and no Talkdesk account is set")
      }
      await doctor.lookAround()
      return doctor.report
    } catch {
      var report = DoctorReport()
      report.fail(
        "key", "the signer cannot be created: \(error)", fix: "check the key with callgate key inspect",
        .internal)
      return report
    }
  }

  /// A request for a token with one credential, and its result.
  struct Trial {
    let credential: ClientCredential
    let role: CredentialRole
    let scope: String
    let result: Result<AccessToken, TokenExchangeError>
    /// Details of the request; nil if nothing was sent.
    let report: TokenRequestReport?

    var token: AccessToken? { if case .success(let token) = result { token } else { nil } }
    var error: TokenExchangeError? { if case .failure(let error) = result { error } else { nil } }
    /// Whether there was a response, whatever its status.
    var isAnswered: Bool { report?.status != nil }
    var refusal: (status: Int, code: String?)? {
      if case .refused(let status, let code) = error { (status, code) } else { nil }
    }
  }

  /// Requests a token with each credential, the next key first as the server does, and reports the results.
  private mutating func ask() async {
    var trials: [Trial] = []
    var signed: [(signer: TransitSigner, pinned: TransitSigner.Pinned, trial: Trial)] = []
    for (place, credential) in client.credentials.enumerated() {
      let role: CredentialRole = place == client.credentials.count - 1 ? .current : .next
      if case .transit(_, _, let signer) = credential {
        let pinned = await report(signer)
        let trial = await attempt(credential, role, scope: configuration.talkdesk.scope)
        trials.append(trial)
        if let pinned { signed.append((signer, pinned, trial)) }
      } else {
        trials.append(await attempt(credential, role, scope: configuration.talkdesk.scope))
      }
      let trial = trials[place]
      // Another key would fail in the same way, unless the error is the signer's.
      if !trial.isAnswered, trial.error?.isOfSigner != true { break }
    }
    if trials.contains(where: { $0.isAnswered }) { trials.removeAll { $0.error?.isOfSigner == true } }
    guard let first = trials.first else { return }
    let isServed = trials.contains { $0.token != nil }
    for (signer, pinned, trial) in signed {
      await reportVersion(of: signer, pinned, trial, isServed: isServed)
    }
    await reportWay(first, isServed: isServed)
    guard first.isAnswered else { return }
    reportClock(trials)
    await reportCredentials(trials)
    guard let served = trials.first(where: { $0.token != nil }), let token = served.token else { return }
    await reportFurtherScopes(with: served)
    reportLifetime(token)
    reportClaims(token)
  }

  /// Requests a token once, without a retry.
  /// - Parameter scope: The scopes to request; empty for whatever the client has.
  func attempt(_ credential: ClientCredential, _ role: CredentialRole, scope: String) async -> Trial {
    let single = TalkdeskID(
      endpoints: client.endpoints, credentials: [credential], transport: transport, time: clock, retry: .never
    )
    let box = ReportBox()
    let result: Result<AccessToken, TokenExchangeError>
    do throws(TokenExchangeError) {
      result = .success(
        try await single.exchange(
          scope: scope, deadline: clock.now + configuration.tokens.deadline, observe: box.put))
    } catch {
      result = .failure(error)
    }
    return Trial(credential: credential, role: role, scope: scope, result: result, report: box.report)
  }

  private final class ReportBox: Sendable {
    private let value = Mutex<TokenRequestReport?>(nil)
    var report: TokenRequestReport? { value.withLock { $0 } }
    @Sendable func put(_ report: TokenRequestReport) { value.withLock { $0 = report } }
  }
}
