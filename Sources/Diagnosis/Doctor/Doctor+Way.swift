// How `callgate doctor` checks the path to Talkdesk ID: DNS, proxy, connection, TLS and token endpoint.

import Configuration
import HTTP
import Platform
import Talkdesk
import Tokens
import Upstream

extension Doctor {
  private var tokenURL: String { client.endpoints.tokenURL }
  private var host: String { TalkdeskHost.host(of: tokenURL) }

  /// Reports how far the request for a token got.
  /// - Parameter isServed: Whether the same endpoint issued a token for any key.
  mutating func reportWay(_ trial: Trial, isServed: Bool) async {
    switch trial.error {
    case .transport(let error):
      reportNoConnection(error)
      if error.diagnosis?.failure == .unknownName, error.diagnosis?.party == .server {
        await reportOtherRegions()
      }
      return
    case .timedOut:
      return report.fail(
        "connection", "\(host) did not respond within \(seconds(configuration.tokens.deadline))",
        fix: "try again; if it persists, look for a firewall that drops packets, or raise tokens.deadline",
        .unreachable)
    case .unusableReply(.malformed):
      reportReached()
      return report.fail(
        "token endpoint", "the response of \(host) is not HTTP",
        fix: "check TD_TOKEN_URL and its port", .unreachable)
    // A signer's failure is reported once, by the check of the signer.
    case .signer(let cause):
      if case .unusableReply(.wrongSignature) = cause {
        report.fail(
          "signer", "it gave a signature that its public key does not verify",
          fix: "check the signer's URL: another Vault responds there, or its key was replaced",
          .refused)
      } else if !report.findings.contains(where: { $0.check == "signer" && $0.status == .fail }) {
        reportSigner(cause)
      }
      return report.skip("exchange", "skipped: without a signature doctor sends nothing to Talkdesk ID")
    case .signingFailed(let detail):
      return report.fail(
        "key", "the assertion cannot be signed: \(detail)", fix: "check the key with callgate key inspect",
        .internal)
    case nil, .refused, .rateLimited, .unavailable, .redirected, .failed, .unusableReply: reportReached()
    }
    switch trial.error {
    case .unavailable(let status, let wait):
      reportEndpoint(
        "Talkdesk ID is unavailable: status \(status)\(waiting(wait))",
        fix: "wait; the server uses its cached token and retries automatically", .unreachable,
        isServed: isServed)
    case .rateLimited(let wait):
      reportEndpoint(
        "Talkdesk ID limits the rate\(waiting(wait))",
        fix: "wait, then check for tokens.share: false or too many instances", .unreachable,
        isServed: isServed)
    case .unusableReply(.status(404)):
      reportEndpoint(
        "status 404: there is no token endpoint at \(tokenURL)",
        fix: accountName.map { "check TD_ACCOUNT_NAME (now \($0)) and TD_REGION" }
          ?? "check TD_TOKEN_URL, or unset it and set TD_ACCOUNT_NAME and TD_REGION", .configuration,
        isServed: isServed)
      if !isServed { await reportOtherRegions() }
    case .unusableReply(.scope): break  // The scope check reports this.
    case .unusableReply(let reason):
      reportEndpoint(
        "the response is unusable: \(reason)",
        fix: "check that TD_TOKEN_URL is Talkdesk ID's, and that the response does not come from a proxy",
        .unreachable,
        isServed: isServed)
    case nil, .refused, .redirected, .failed, .timedOut, .transport, .signingFailed, .signer:
      report.ok("token endpoint", "\(tokenURL) responds with status \(trial.report?.status ?? 200)")
    }
  }

  /// Reports that the endpoint neither accepted nor refused a credential. Only a warning if it issued a token
  /// for another key.
  private mutating func reportEndpoint(
    _ found: String, fix: String, _ cause: DoctorReport.Verdict, isServed: Bool
  ) {
    if isServed {
      report.warn("token endpoint", "\(found); another key got a token", fix: fix)
    } else {
      report.fail("token endpoint", found, fix: fix, cause)
    }
  }

  private mutating func reportReached() {
    switch proxies.way(to: tokenURL) {
    case .proxy(_, resolvesName: true): report.ok("dns", "\(host) is resolved by the proxy")
    case .direct, .proxy: report.ok("dns", isAddress ? "\(host) is an address" : "\(host) resolves")
    }
    report.ok("connection", "connected to \(host)")
    if tokenURL.lowercased().hasPrefix("https:") {
      report.ok("tls", "the certificate of \(host) is valid, and its issuer is trusted")
    } else {
      report.ok("tls", "none: plain http to this machine")
    }
  }

  private var isAddress: Bool { IPAddress(host.trimmingBrackets) != nil }

  /// The account in the token endpoint's host; nil if the host names no account.
  private var accountName: String? {
    if case .account(_, let name) = TalkdeskHost(url: tokenURL), !name.isEmpty { name } else { nil }
  }

  // MARK: Failures

  private mutating func reportNoConnection(_ error: TransportError) {
    guard let diagnosis = error.diagnosis else {
      return report.fail(
        "connection", error.words(about: host),
        fix: "try again; if it persists, check the network in between",
        .unreachable)
    }
    let isProxy = diagnosis.party == .proxy
    let (check, found, fix) = diagnosis.explained(as: isProxy ? "the proxy" : host)
    let variable = proxies.variable ?? "https_proxy"
    report.fail(
      isProxy ? "proxy" : check, found,
      fix: isProxy ? "\(fix); \(variable) names it" : fix,
      .unreachable)
  }

  /// Looks for an account of the same name in the other regions, by the keys each account's host publishes.
  private mutating func reportOtherRegions() async {
    guard case .account(let configured, let name) = TalkdeskHost(url: tokenURL), !name.isEmpty else { return }
    let transport = transport
    let found = await withTaskGroup(of: Region?.self) { group in
      for region in Region.allCases where region != configured {
        group.addTask {
          let request = OutboundRequest(
            method: .get, url: "https://\(name).\(region.idDomain)/oauth/certs", timeout: .seconds(4))
          do throws(TransportError) {
            return try await transport.send(request).status == 200 ? region : nil
          } catch {
            return nil  // A failed request is no hint, whatever the reason.
          }
        }
      }
      return await group.reduce(into: [Region]()) { list, region in if let region { list.append(region) } }
    }
    guard !found.isEmpty else { return }
    let regions = found.map(\.rawValue).sorted().joined(separator: " or ")
    report.warn(
      "region", "there is an account \(name) in region \(regions), and none in \(configured.rawValue)",
      fix: "set TD_REGION=\(found.count == 1 ? regions : "REGION") if that account is yours")
  }

  private func seconds(_ duration: Duration) -> String { "\(duration.components.seconds) s" }

  private func waiting(_ wait: Duration?) -> String {
    wait.map { ", and asks for a pause of \($0.components.seconds) s" } ?? ""
  }
}

extension String {
  fileprivate var trimmingBrackets: String { hasPrefix("[") ? String(dropFirst().dropLast()) : self }
}
