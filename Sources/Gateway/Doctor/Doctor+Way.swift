// How `callgate doctor` checks the path to Talkdesk ID: DNS, proxy, connection, TLS and token endpoint.

import HTTP
import Platform
import Talkdesk
import Tokens
import Upstream

extension Doctor {
  private var tokenURL: String { client.endpoints.tokenURL }
  private var host: String { TalkdeskHost.host(of: tokenURL) }

  /// Reports how far a request came.
  /// - Parameter isServed: Whether another key was given a token at the same endpoint.
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
        "connection", "\(host) did not answer within \(seconds(configuration.tokens.deadline))",
        fix: "ask again; if it stays so, look for a firewall that drops packets, or raise tokens.deadline",
        .unreachable)
    case .unusableReply(.malformed):
      reportReached()
      return report.fail(
        "token endpoint", "what \(host) says is not HTTP",
        fix: "check TD_TOKEN_URL and its port", .unreachable)
    case .signingFailed(let detail):
      return report.fail(
        "key", "the assertion cannot be signed: \(detail)", fix: "check the key with callgate key inspect",
        .internal)
    default: reportReached()
    }
    switch trial.error {
    case .unavailable(let status, let wait):
      reportEndpoint(
        "Talkdesk ID cannot serve: status \(status)\(waiting(wait))",
        fix: "wait; the server goes on with the token it has and asks again by itself", .unreachable,
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
    case .unusableReply(.scope): break  // The scope's finding says it.
    case .unusableReply(let reason):
      reportEndpoint(
        "the reply is unusable: \(reason)",
        fix: "check that TD_TOKEN_URL is Talkdesk ID's and that no proxy answers in its place", .unreachable,
        isServed: isServed)
    default:
      report.ok("token endpoint", "\(tokenURL) answers with status \(trial.report?.status ?? 200)")
    }
  }

  /// Reports that the endpoint did not judge a credential: a warning where it gave another key a token.
  private mutating func reportEndpoint(
    _ found: String, fix: String, _ cause: DoctorReport.Verdict, isServed: Bool
  ) {
    if isServed {
      report.warn("token endpoint", "\(found); another key was given a token", fix: fix)
    } else {
      report.fail("token endpoint", found, fix: fix, cause)
    }
  }

  private mutating func reportReached() {
    switch proxies.way(to: tokenURL) {
    case .proxy(_, resolvesName: true): report.ok("dns", "\(host) is resolved by the proxy")
    default: report.ok("dns", isAddress ? "\(host) is an address" : "\(host) resolves")
    }
    report.ok("connection", "\(host) was reached")
    if tokenURL.lowercased().hasPrefix("https:") {
      report.ok("tls", "the certificate of \(host) is valid for it and its issuer is trusted")
    } else {
      report.ok("tls", "none: plain http to this machine")
    }
  }

  private var isAddress: Bool { IPAddress(host.trimmingBrackets) != nil }

  /// The account whose host is asked; nil for a host that belongs to none.
  private var accountName: String? {
    if case .account(_, let name) = TalkdeskHost(url: tokenURL), !name.isEmpty { name } else { nil }
  }

  // MARK: Failures

  private mutating func reportNoConnection(_ error: TransportError) {
    guard let diagnosis = error.diagnosis else {
      return report.fail(
        "connection", error.words(about: host), fix: "ask again; if it stays so, look at the network between",
        .unreachable)
    }
    let isProxy = diagnosis.party == .proxy
    let (check, found, fix) = Self.explain(diagnosis, whose: isProxy ? "the proxy" : host)
    let variable = proxies.variable ?? "https_proxy"
    report.fail(
      isProxy ? "proxy" : check, found,
      fix: isProxy ? "\(fix); \(variable) names it" : fix,
      .unreachable)
  }

  static func explain(
    _ diagnosis: TransportDiagnosis, whose name: String
  ) -> (check: String, found: String, fix: String) {
    switch diagnosis.failure {
    case .unknownName:
      (
        "dns", "\(name): there is no such name",
        "check TD_ACCOUNT_NAME and TD_REGION: acme of region eu is acme.talkdeskid.eu"
      )
    case .resolver:
      (
        "dns", "\(name): the resolver gives no answer",
        "check the name servers in /etc/resolv.conf and that this machine or container may reach them (port 53)"
      )
    case .connectionRefused:
      ("connection", "\(name) refuses connections", "check host and port, and that something listens there")
    case .unreachable:
      (
        "connection", "there is no way to \(name)",
        "check this machine's routes and the firewall's outgoing rules: TCP port 443 must be open"
      )
    case .connectTimedOut:
      (
        "connection", "\(name) does not take the connection in time",
        "look for a firewall that drops packets; where the way out is a proxy, set https_proxy"
      )
    case .connectionBroken:
      (
        "connection", "the connection to \(name) broke",
        "ask again; if it stays so, look for a firewall or a TLS inspection that cuts it"
      )
    case .certificate(let failure): explain(failure, of: name)
    case .handshake:
      (
        "tls", "\(name) does not speak TLS 1.2 or 1.3 with us",
        "check the port; behind a network that inspects TLS, ask its owner"
      )
    case .handshakeTimedOut:
      ("tls", "\(name) did not finish the TLS handshake in time", "ask again; check the port")
    case .tunnelRefused(407):
      (
        "proxy", "\(name) wants a credential (status 407)",
        "write it into the variable as http://USER:PASSWORD@HOST:PORT, percent-encoded"
      )
    case .tunnelRefused(let status):
      (
        "proxy", "\(name) refuses the way out (status \(status))",
        "have the proxy allow CONNECT to this host and port"
      )
    case .tunnelFailed:
      ("proxy", "\(name) makes no connection", "check that it is a SOCKS proxy and may reach the host")
    }
  }

  private static func explain(
    _ failure: CertificateFailure, of name: String
  ) -> (check: String, found: String, fix: String) {
    switch failure {
    case .expired:
      (
        "tls", "the certificate of \(name) has expired",
        "check this machine's clock; if it is right, the certificate's owner must renew it"
      )
    case .notYetValid:
      ("tls", "the certificate of \(name) is not valid yet", "check this machine's clock: it may be behind")
    case .selfSigned:
      (
        "tls", "the certificate of \(name) is self-signed",
        "if your network inspects TLS, name its authority in CALLGATE_CA_FILE; otherwise this is not Talkdesk"
      )
    case .unknownIssuer:
      (
        "tls", "the certificate of \(name) comes from an authority that is not trusted",
        "install ca-certificates; if your network inspects TLS, name its authority in CALLGATE_CA_FILE"
      )
    case .wrongName:
      (
        "tls", "the certificate of \(name) is for another name",
        "check the host in TD_TOKEN_URL; if it is right, somebody answers in its place"
      )
    case .otherKey:
      (
        "tls", "\(name) has another key than the certificate in listen.tls.certificate_file",
        "restart the server if the file is new; if it is not, another program listens there"
      )
    case .weak:
      ("tls", "the certificate of \(name) is too weak (key or signature)", "its owner must replace it")
    case .revoked: ("tls", "the certificate of \(name) was revoked", "its owner must replace it")
    case .other(let code):
      (
        "tls", "the certificate of \(name) is not believed (OpenSSL's code \(code))",
        "look at it with openssl s_client"
      )
    }
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
            return nil  // What is not there is no hint, whatever the reason.
          }
        }
      }
      return await group.reduce(into: [Region]()) { list, region in if let region { list.append(region) } }
    }
    guard !found.isEmpty else { return }
    let regions = found.map(\.rawValue).sorted().joined(separator: " or ")
    report.warn(
      "region", "there is an account \(name) in region \(regions), and none in \(configured.rawValue)",
      fix: "set TD_REGION=\(found.count == 1 ? regions : "REGION") if that is yours")
  }

  private func seconds(_ duration: Duration) -> String { "\(duration.components.seconds) s" }

  private func waiting(_ wait: Duration?) -> String {
    wait.map { ", and asks to wait \($0.components.seconds) s" } ?? ""
  }
}

extension String {
  fileprivate var trimmingBrackets: String { hasPrefix("[") ? String(dropFirst().dropLast()) : self }
}
