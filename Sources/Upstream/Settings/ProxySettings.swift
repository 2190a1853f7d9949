// Reads the proxy from the environment, with the variables and rules of curl.

import Glibc

/// The proxy between this process and the Internet, from the environment variables that curl uses.
///
/// `https_proxy` or `HTTPS_PROXY`, else `all_proxy` or `ALL_PROXY`, names the proxy. `no_proxy` or `NO_PROXY`
/// lists the hosts to reach without it. `http_proxy` has no effect: plain http goes to loopback only, which
/// is never reached through a proxy. Requests go through the proxy in a CONNECT tunnel or over SOCKS, always
/// encrypted.
public struct ProxySettings: Sendable {
  let proxy: Proxy?
  /// Hosts reached directly.
  let exceptions: ProxyExceptions
  /// The variable that names the proxy; nil if there is none.
  public let variable: String?

  /// A proxy variable that cannot be used.
  public struct Malformed: Error, Sendable, CustomStringConvertible {
    /// The variable's name.
    public let variable: String
    /// The mistake; never the value, which may hold a password.
    public let problem: String
    public var description: String { "\(variable): \(problem)" }
  }

  /// No proxy: every host is reached directly.
  public static let direct = ProxySettings(proxy: nil, exceptions: ProxyExceptions(""))

  init(proxy: Proxy?, exceptions: ProxyExceptions, variable: String? = nil) {
    self.proxy = proxy
    self.exceptions = exceptions
    self.variable = variable
  }

  /// The way by which requests to a URL leave this machine.
  public enum Way: Hashable, Sendable {
    /// Directly; `excepted` if there is a proxy, but not for this host.
    case direct(excepted: Bool)
    /// Through the proxy. `address` contains no credential. `resolvesName`: the proxy, not this machine,
    /// resolves the server's name.
    case proxy(address: String, resolvesName: Bool)
  }

  /// The way by which a request to a URL leaves this machine. An invalid URL counts as direct.
  public func way(to url: String) -> Way {
    // The sender of the request reports a wrong URL.
    guard let target = try? Target(url), let proxy = proxy(for: target) else {
      return .direct(excepted: proxy != nil)
    }
    return .proxy(address: proxy.url, resolvesName: !proxy.kind.resolvesLocally)
  }

  /// Reads the settings from variables. Lower case wins over upper case; an empty variable counts as unset.
  ///
  /// - Throws: `Malformed` with the variable whose value is not the address of a proxy.
  public init(environment: [String: String]) throws(Malformed) {
    func first(_ names: String...) -> (name: String, value: String)? {
      for name in names {
        if let value = environment[name], !value.isEmpty { return (name, value) }
      }
      return nil
    }
    if let (name, value) = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY") {
      guard let proxy = Proxy(value) else {
        throw Malformed(
          variable: name,
          problem:
            "not of the form [SCHEME://][USER:PASSWORD@]HOST[:PORT], SCHEME being http, https, socks4, "
            + "socks4a, socks5 or socks5h")
      }
      self.proxy = proxy
      variable = name
    } else {
      proxy = nil
      variable = nil
    }
    exceptions = ProxyExceptions(first("no_proxy", "NO_PROXY")?.value ?? "")
  }

  /// The variables that these settings are read from.
  public static let variables = [
    "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
  ]

  /// Reads the settings from this process's environment.
  public static func environment() throws(Malformed) -> ProxySettings {
    var environment: [String: String] = [:]
    for name in variables {
      if let value = getenv(name) { environment[name] = String(cString: value) }
    }
    return try ProxySettings(environment: environment)
  }

  /// The proxy for requests to a target; nil if they go to it directly.
  func proxy(for target: Target) -> Proxy? {
    guard let proxy, target.secure, !target.isLoopback, !exceptions.contain(target) else { return nil }
    return proxy
  }
}
