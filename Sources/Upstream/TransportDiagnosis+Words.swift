// Explains in plain words why a connection failed, and the remedy, for `callgate doctor` and other commands.

package import HTTP

extension TransportDiagnosis {
  /// The failure in plain words, with its remedy.
  /// - Parameter name: The host or proxy, as the reader calls it.
  /// - Returns: The failed check (`dns`, `connection`, `proxy` or `tls`), the finding and the remedy.
  package func explained(as name: String) -> (check: String, found: String, fix: String) {
    switch failure {
    case .unknownName:
      (
        "dns", "\(name): this name does not exist",
        "check TD_ACCOUNT_NAME and TD_REGION: acme of region eu is acme.talkdeskid.eu"
      )
    case .resolver:
      (
        "dns", "\(name): the resolver does not respond",
        "check the name servers in /etc/resolv.conf, and that this machine or container can reach them (port 53)"
      )
    case .connectionRefused:
      ("connection", "\(name) refuses connections", "check host and port, and that a server listens there")
    case .unreachable:
      (
        "connection", "there is no route to \(name)",
        "check this machine's routes and the firewall's outgoing rules: TCP port 443 must be open"
      )
    case .connectTimedOut:
      (
        "connection", "\(name) does not accept the connection in time",
        "look for a firewall that drops packets; if your network needs a proxy, set https_proxy"
      )
    case .connectionBroken:
      (
        "connection", "the connection to \(name) broke",
        "try again; if it persists, look for a firewall or a TLS inspection that closes connections"
      )
    case .certificate(let failure): Self.explain(failure, of: name)
    case .handshake:
      (
        "tls", "\(name) does not accept TLS 1.2 or 1.3",
        "check the port; behind a network that inspects TLS, ask its owner"
      )
    case .handshakeTimedOut:
      ("tls", "\(name) did not finish the TLS handshake in time", "try again, and check the port")
    case .tunnelRefused(407):
      (
        "proxy", "\(name) requires a credential (status 407)",
        "write it into the variable as http://USER:PASSWORD@HOST:PORT, percent-encoded"
      )
    case .tunnelRefused(let status):
      (
        "proxy", "\(name) refuses the connection (status \(status))",
        "allow CONNECT to this host and port in the proxy"
      )
    case .tunnelFailed:
      (
        "proxy", "\(name) does not connect to the host",
        "check that it is a SOCKS proxy and can reach the host"
      )
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
        "check the host in TD_TOKEN_URL; if it is right, another server responds in its place"
      )
    case .otherKey:
      (
        "tls", "\(name) uses another key than the certificate in listen.tls.certificate_file",
        "if the file is new, restart the server; otherwise another program listens there"
      )
    case .weak:
      ("tls", "the certificate of \(name) is too weak (key or signature)", "the owner must replace it")
    case .revoked: ("tls", "the certificate of \(name) was revoked", "the owner must replace it")
    case .other(let code):
      (
        "tls", "the certificate of \(name) is not trusted (OpenSSL code \(code))",
        "inspect it with openssl s_client"
      )
    }
  }
}
