// Finds the server and the token for the operators' commands.

public import Configuration
import Documents
import JOSE
import TLS
public import Upstream

/// The address of a running server's admin interface, and the token for it.
public struct AdminDestination: Sendable {
  /// The server's address, without a final slash.
  public let url: String
  /// An operator's token or the admin token; nil if the listener needs none, or if none is configured.
  let token: Secret?
  /// The certificate authorities to trust instead of the system's; nil for the system's.
  public let authorities: Authorities?
  /// The key of the certificate that the configuration names, as `TransportSettings.pinnedKey`. Nil if an
  /// operator gave the address, and for plain http.
  public let pinnedKey: String?
  /// A hint that there may be no admin interface, because the configuration has neither an admin listener nor
  /// a token. Nil if it has either, or if an operator gave the address.
  public let doubt: String?

  init(
    url: String, token: Secret?, authorities: Authorities? = nil, pinnedKey: String? = nil,
    doubt: String? = nil
  ) {
    self.url = url
    self.token = token
    self.authorities = authorities
    self.pinnedKey = pinnedKey
    self.doubt = doubt
  }

  /// The flag that names the token's file.
  public static let tokenFlag = "--admin-token-file"
  /// The variable with an operator's token.
  static let tokenVariable = Settings.operatorTokenVariables[0]

  /// Finds the server that the configuration describes.
  ///
  /// Reads only the settings that the address and the token need, so an operator can stop a server while its
  /// file is being edited. The address is the first of these that is given: `url`; the admin listener
  /// (`admin.host`, `admin.port`); the public listener, if there is an admin token or the configuration names
  /// operators; the default admin listener, `http://127.0.0.1:9091`.
  ///
  /// - Parameter tokenFile: A file with the token. It overrides `CALLGATE_OPERATOR_TOKEN` and its `_FILE`,
  ///   which override `CALLGATE_ADMIN_TOKEN`, its `_FILE`, and `admin.token_file`.
  public static func find(
    url: String?, tokenFile: String?, sources: ConfigurationSources
  ) throws(ConfigurationErrors) -> AdminDestination {
    var ignored = ProblemList()
    var overrides = PartialConfiguration(environment: sources.environment, into: &ignored)
      .overridden(by: PartialConfiguration(flags: sources.flags))
    let variables = Settings.operatorTokenVariables
    func value(_ name: String) -> String? { sources.environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    let own: (source: ContentSource, place: DocumentPlace)? =
      if let tokenFile {
        (.file(tokenFile), .flag(tokenFlag))
      } else if value(variables[0]) != nil {
        (.variable(variables[0]), .variable(variables[0]))
      } else {
        value(variables[1]).map { (.file($0), .variable(variables[1])) }
      }
    if let own {
      overrides.entries[Settings.adminToken.setting] = PartialConfiguration.Entry(
        content: .content(own.source), place: own.place)
    }
    var finder = ConfigurationBuilder(
      partial: overrides, purpose: .serve, sources: sources, problems: ProblemList())
    let file = finder.file()
    // The file cannot be read, so the server may be anywhere.
    if file == nil, url == nil, !finder.problems.isEmpty { throw finder.errors }
    var builder = ConfigurationBuilder(
      partial: (file ?? PartialConfiguration()).overridden(by: overrides), purpose: .serve, sources: sources,
      problems: ProblemList())
    let destination = builder.destination(
      url: url, isFromFile: file != nil, hasOwnToken: own != nil && tokenFile == nil)
    guard builder.problems.isEmpty else { throw builder.errors }
    return destination
  }
}

extension ConfigurationBuilder {
  fileprivate var errors: ConfigurationErrors {
    ConfigurationErrors(problems: problems.sorted, notices: problems.notices)
  }

  /// - Parameter hasOwnToken: Whether the environment has the token of a named operator. A server with named
  ///   operators requires a token on loopback too.
  fileprivate mutating func destination(
    url: String?, isFromFile: Bool, hasOwnToken: Bool
  ) -> AdminDestination {
    let authorities = authorities()
    if let url {
      var base = url
      while base.hasSuffix("/") { base.removeLast() }
      return AdminDestination(url: base, token: adminToken(), authorities: authorities)
    }
    let hasListener = place(of: Settings.adminHost) != nil || place(of: Settings.adminPort) != nil
    guard hasListener || partial.entries[Settings.adminToken.setting] == nil && !mentionsOperators else {
      let scheme = partial.entries[Settings.certificateFile.setting] == nil ? "http" : "https"
      return AdminDestination(
        url: local(
          scheme, value(Settings.host), Settings.host.setting, value(Settings.port), Settings.port.setting,
          "give the server's https address with --url https://NAME"),
        token: adminToken(), authorities: authorities, pinnedKey: listenerKey())
    }
    let host = value(Settings.adminHost)
    let doubt =
      hasListener
      ? nil
      : (isFromFile ? "the configuration has no admin:" : "no configuration names an admin listener")
        + ". Without it the server accepts no operator commands: add admin: { port: 9091 } to callgate.yaml, and "
        + "restart the server. A sandbox accepts them on its own port: add --url http://127.0.0.1:8080"
    return AdminDestination(
      url: local(
        "http", host, Settings.adminHost.setting, value(Settings.adminPort), Settings.adminPort.setting,
        "set it to 127.0.0.1, or give the public port's https address with --url https://NAME"),
      // While the server is down, any user of the machine can listen there. So a listener that requires no
      // token gets none.
      token: host.isLoopback && !hasOwnToken && !mentionsOperators ? nil : adminToken(),
      authorities: authorities, doubt: doubt)
  }

  /// The key of the public listener's certificate, to recognize the server by; nil without a certificate. The
  /// certificate names the public host, not the address by which this machine reaches the listener.
  mutating func listenerKey() -> String? {
    guard let (source, place) = source(Settings.certificateFile) else { return nil }
    let name = Settings.certificateFile.setting.name
    guard let bytes = certificates(in: source, at: place, name: name) else { return nil }
    do throws(TLSFailure) {
      if let own = try Certificate.chain(pem: bytes).first {
        return "sha256//" + Base64.encode(own.keyFingerprint)
      }
    } catch {}  // With any mistake in it, the certificate cannot identify the server.
    problems.add(
      place, name,
      Refusal(
        "names a \(source.noun) without a certificate that can be read",
        "correct it, or give the server's https address with --url https://NAME"))
    return nil
  }

  /// The URL of a listener as this machine reaches it.
  private mutating func local(
    _ scheme: String, _ address: ListenAddress, _ hostSetting: Setting, _ port: UInt16,
    _ portSetting: Setting,
    _ remedy: String
  ) -> String {
    if port == 0 {
      problems.add(
        partial.entries[portSetting]?.place ?? .setting(portSetting.name), portSetting.name,
        Refusal("0 is a different port at each start", "give the server's address with --url"))
    }
    if scheme == "http", !address.isLoopback, !["0.0.0.0", "::"].contains(address.host) {
      problems.add(
        partial.entries[hostSetting]?.place ?? .setting(hostSetting.name), hostSetting.name,
        Refusal(
          "\(address.host) is reached over plain http, which would show the admin token to the network",
          remedy))
    }
    let host =
      switch address.host {
      case "0.0.0.0": "127.0.0.1"
      case "::": "[::1]"
      default: address.host.contains(":") ? "[\(address.host)]" : address.host
      }
    return "\(scheme)://\(host):\(port)"
  }
}
