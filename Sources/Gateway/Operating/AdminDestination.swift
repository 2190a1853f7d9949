// Which server the operators' commands ask, and with which token.

internal import JOSE

/// Where a running server's admin interface is, and what opens it.
public struct AdminDestination: Sendable {
  /// The address that requests go to, without a path.
  public let url: String
  /// The operators' token; nil where the listener needs none.
  let token: Secret?
  /// A PEM file of the authorities to trust in place of the system's.
  public let caFile: String?

  /// An address and a token.
  init(url: String, token: Secret?, caFile: String? = nil) {
    self.url = url
    self.token = token
    self.caFile = caFile
  }

  /// The flag that names the token's file.
  public static let tokenFlag = "--admin-token-file"

  /// Finds the server that the configuration describes.
  ///
  /// Only the settings that say where the server is are judged: an operator must be able to stop a server whose file is
  /// being edited. In this order: `url`; the admin listener (`admin.host`, `admin.port`); with an operators' token the
  /// public listener; otherwise the default admin listener, `http://127.0.0.1:9091`.
  ///
  /// - Parameter tokenFile: Goes before `CALLGATE_ADMIN_TOKEN`, its `_FILE`, and `admin.token_file`.
  public static func find(
    url: String?, tokenFile: String?, sources: ConfigurationSources
  ) throws(ConfigurationErrors) -> AdminDestination {
    var ignored = ProblemList()
    var said = PartialConfiguration(environment: sources.environment, into: &ignored)
      .overridden(by: PartialConfiguration(flags: sources.flags))
    if let tokenFile {
      said.entries[Settings.adminToken.setting] = PartialConfiguration.Entry(
        content: .content(ofFile: tokenFile), place: .flag(tokenFlag))
    }
    var finder = ConfigurationBuilder(
      partial: said, purpose: .serve, sources: sources, problems: ProblemList())
    let file = finder.file()
    // What the file says is not known; the server may be anywhere.
    if file == nil, url == nil, !finder.problems.isEmpty { throw finder.errors }
    var builder = ConfigurationBuilder(
      partial: (file ?? PartialConfiguration()).overridden(by: said), purpose: .serve, sources: sources,
      problems: ProblemList())
    let destination = builder.destination(url: url)
    guard builder.problems.isEmpty else { throw builder.errors }
    return destination
  }
}

extension ConfigurationBuilder {
  /// Every problem so far.
  fileprivate var errors: ConfigurationErrors {
    ConfigurationErrors(problems: problems.sorted, notices: problems.notices)
  }

  fileprivate mutating func destination(url: String?) -> AdminDestination {
    let caFile = stated(Settings.caFile)
    if let url {
      var base = url
      while base.hasSuffix("/") { base.removeLast() }
      return AdminDestination(url: base, token: adminToken(), caFile: caFile)
    }
    let hasListener = place(of: Settings.adminHost) != nil || place(of: Settings.adminPort) != nil
    guard hasListener || partial.entries[Settings.adminToken.setting] == nil else {
      let scheme = partial.entries[Settings.certificateFile.setting] == nil ? "http" : "https"
      return AdminDestination(
        url: local(
          scheme, value(Settings.host), Settings.host.setting, value(Settings.port), Settings.port.setting),
        token: adminToken(), caFile: caFile)
    }
    let host = value(Settings.adminHost)
    // A listener on loopback asks for no token, so a file that only the server may read does not matter.
    let needsToken = !host.isLoopback || place(of: Settings.adminToken)?.isFile == false
    return AdminDestination(
      url: local(
        "http", host, Settings.adminHost.setting, value(Settings.adminPort), Settings.adminPort.setting),
      token: needsToken ? adminToken() : nil, caFile: caFile)
  }

  /// The URL of a listener as this machine reaches it.
  private mutating func local(
    _ scheme: String, _ address: ListenAddress, _ hostSetting: Setting, _ port: UInt16, _ portSetting: Setting
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
          "\(address.host) is reached over plain http, which would show the operators' token to the network",
          "set it to 127.0.0.1 or 0.0.0.0 and run this command on the server's machine, or give the https address of the "
            + "public port with --url"))
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
