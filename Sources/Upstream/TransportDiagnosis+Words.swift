// Explains in plain words why no connection came about, and what to do, for `callgate doctor` and other commands.

package import HTTP

extension TransportDiagnosis {
  /// What failed, and what to do.
  /// - Parameter name: The host or proxy, as the reader calls it.
  /// - Returns: The check that fails (`dns`, `connection`, `proxy` or `tls`), what was found and the remedy.
  package func explained(as name: String) -> (check: String, found: String, fix: String) {
    switch failure {
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
    case .certificate(let failure): Self.explain(failure, of: name)
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
}
