// Finds the public listener of the server on this machine, for the health check of a container.

public import Configuration
import Documents

/// The address on which a server on this machine listens.
public struct ListenerDestination: Sendable {
  /// The address that `HOST` (`listen.host`) names, as written in a URL; nil if the server listens on every
  /// address.
  public let host: String?
  /// Whether the address is a loopback address, which only this machine reaches.
  public let isLoopback: Bool
  /// The port, from `PORT` (`listen.port`).
  public let port: UInt16
  /// The key of the listener's certificate, which names a public host and not an address; nil without TLS.
  public let pinnedKey: String?

  /// Reads the address from the configuration.
  ///
  /// Ignores mistakes in a file that is being edited, as a running server does. Then variables and defaults
  /// apply.
  ///
  /// - Throws: The mistakes in variables and flags.
  public static func find(_ sources: ConfigurationSources) throws(ConfigurationErrors) -> ListenerDestination
  {
    var ignored = ProblemList()
    let overrides = PartialConfiguration(environment: sources.environment, into: &ignored)
      .overridden(by: PartialConfiguration(flags: sources.flags))
    var finder = ConfigurationBuilder(
      partial: overrides, purpose: .serve, sources: sources, problems: ProblemList())
    let file = finder.file() ?? PartialConfiguration()
    var builder = ConfigurationBuilder(
      partial: file.overridden(by: overrides), purpose: .serve, sources: sources, problems: ProblemList())
    let (address, port) = (builder.value(Settings.host), builder.value(Settings.port))
    let mistakes = builder.problems.sorted.filter { !$0.place.isFile }
    guard mistakes.isEmpty else { throw ConfigurationErrors(problems: mistakes, notices: []) }
    let host: String? =
      switch address.host {
      case "0.0.0.0", "::": nil
      default: address.host.contains(":") ? "[\(address.host)]" : address.host
      }
    return ListenerDestination(
      host: host, isLoopback: address.isLoopback, port: port, pinnedKey: builder.listenerKey())
  }
}
