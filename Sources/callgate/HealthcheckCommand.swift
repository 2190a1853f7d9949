// The command `callgate healthcheck`, which a container runs to test its server.

import ArgumentParser
import Gateway
import HTTP
import Platform
import Upstream

/// `callgate healthcheck`: whether the server on this machine answers. For a container's HEALTHCHECK, whose image has
/// no curl.
struct HealthcheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "healthcheck",
    abstract: "Checks /livez of the server on this machine.",
    discussion: """
      If the server uses TLS, the command tries again over https. It does not verify the certificate, which names hosts and \
      not the loopback address.

      Exit status: 0 if the server responds with 200 within 2 seconds, 69 if not.
      """)

  @Option(help: ArgumentHelp("The server's port. Without it: PORT, or 8080.", valueName: "number"))
  var port: UInt16?

  func run() throws {
    let port = try portToAsk()
    let failure: String? = Blocker.run {
      do {
        // Loopback: a proxy has no part in it, so a malformed proxy variable does not matter here.
        let transport = try CurlTransport(TransportSettings(verifiesLoopback: false, proxies: .direct))
        var failure: String?
        // A server may listen on one of them only; one that is there and does not answer is not looked for elsewhere.
        for host in ["127.0.0.1", "[::1]"] {
          let heard = await Self.ask(transport, "\(host):\(port)")
          if heard.isFinal || failure == nil { failure = heard.failure }
          if heard.isFinal { break }
        }
        await transport.shutdown()
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

  /// Asks one address. Returns the fault of the server there, and whether there is one.
  private static func ask(
    _ transport: CurlTransport, _ address: String
  ) async -> (failure: String?, isFinal: Bool) {
    var failure: String?
    do throws(TransportError) {
      // A server that speaks TLS answers 400 to a sound request in the clear.
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

  private func portToAsk() throws -> UInt16 {
    if let port { return port }
    guard let text = ProcessEnvironment.variables()["PORT"], !text.isEmpty else { return 8080 }
    // `UInt16` alone would take a sign and zeros in front, which serve refuses.
    guard let port = UInt16(text), "\(port)" == text else {
      Output.message(
        "callgate: PORT: \(text.debugDescription) is not a port; set it to 1–65535, or use --port")
      throw ExitStatus.configuration.exit
    }
    return port
  }
}
