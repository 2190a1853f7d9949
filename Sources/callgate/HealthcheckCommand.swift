// The command `callgate healthcheck`, which a container runs to test its server.

import ArgumentParser
import Configuration
import Diagnosis
import Gateway
import HTTP
import Upstream

/// `callgate healthcheck`: tests whether the server on this machine responds. For the HEALTHCHECK of a
/// container, whose image has no curl.
struct HealthcheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "healthcheck",
    abstract: "Checks /livez of the server on this machine.",
    discussion: """
      Tries the address in HOST (listen.host) first, unless that means every address, and then the loopback addresses. \
      If the server uses TLS, the command tries again over https. A certificate names hosts and not addresses: the command \
      compares its key with the configured certificate beyond loopback, and verifies nothing on loopback.

      Exit status: 0 if the server responds with 200 within 2 seconds, 69 if not.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(
    help: ArgumentHelp("The server's port. Without it: PORT (listen.port), or 8080.", valueName: "number"))
  var port: UInt16?

  func run() throws {
    let listener: ListenerDestination
    do throws(ConfigurationErrors) {
      listener = try ListenerDestination.find(options.sources())
    } catch {
      for problem in error.problems { Output.message("callgate: \(problem)") }
      throw ExitStatus.configuration.exit
    }
    let port = port ?? listener.port
    // A server may listen on only one of these addresses. If a server accepts the connection but does not
    // respond, the command tries no further address.
    let loopback = ["127.0.0.1", "[::1]"]
    let addresses = listener.host.map { host in [host] + loopback.filter { $0 != host } } ?? loopback
    let ownKey = listener.isLoopback ? nil : listener.pinnedKey
    let failure: String? = Blocker.run {
      do {
        // The command uses no proxy, so a malformed proxy variable does not matter here.
        var failure: String?
        for host in addresses {
          let transport = try CurlTransport(
            TransportSettings(
              verifiesLoopback: false, pinnedKey: host == listener.host ? ownKey : nil, proxies: .direct))
          let heard = await Self.ask(transport, "\(host):\(port)")
          await transport.shutdown()
          if heard.isFinal || failure == nil { failure = heard.failure }
          if heard.isFinal { break }
        }
        return failure
      } catch {
        return "\(error)"
      }
    }
    if let failure {
      Output.message("callgate: \(failure)")
      throw ExitStatus.unavailable.exit
    }
  }

  /// Sends a request to one address. Returns the failure, if any, and whether no other address has to be
  /// tried.
  private static func ask(
    _ transport: CurlTransport, _ address: String
  ) async -> (failure: String?, isFinal: Bool) {
    var failure: String?
    do throws(TransportError) {
      // A server with TLS responds with 400 to a valid request without TLS.
      for scheme in ["http", "https"] {
        let url = "\(scheme)://\(address)/livez"
        let status = try await transport.send(
          OutboundRequest(method: .get, url: url, timeout: .seconds(1))
        ).status
        failure = status == 200 ? nil : "\(url): status \(status)"
        guard status == 400 else { break }
      }
      return (failure, true)
    } catch {
      return ("\(address): \(error)", error.reason != .connect)
    }
  }
}
