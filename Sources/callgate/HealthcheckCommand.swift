import ArgumentParser
import Foundation
import Gateway
import HTTP
import Upstream

/// `callgate healthcheck`: whether the server on this machine answers. For a container's HEALTHCHECK, whose image has
/// no curl.
struct HealthcheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "healthcheck",
    abstract: "Asks /livez of the server on this machine.",
    discussion: "Exit status: 0 if it answers 200 within 2 seconds, 69 if not.")

  @Option(help: ArgumentHelp("The server's port; PORT, or 8080.", valueName: "number"))
  var port: UInt16?

  func run() throws {
    let url = "http://127.0.0.1:\(try portToAsk())/livez"
    let failure: String? = Blocker.run {
      do {
        // Loopback: a proxy has no part in it, so a malformed proxy variable does not matter here.
        let transport = try CurlTransport(TransportSettings(proxies: .direct))
        let answer = try await transport.send(OutboundRequest(method: .get, url: url, timeout: .seconds(2)))
        await transport.shutdown()
        return answer.status == 200 ? nil : "status \(answer.status)"
      } catch {
        return "\(error)"
      }
    }
    if let failure {
      Output.message("callgate: \(url): \(failure)")
      throw ExitStatus.unavailable.exit
    }
  }

  private func portToAsk() throws -> UInt16 {
    if let port { return port }
    guard let text = ProcessInfo.processInfo.environment["PORT"], !text.isEmpty else { return 8080 }
    // `UInt16` alone would take a sign and zeros in front, which serve refuses.
    guard let port = UInt16(text), "\(port)" == text else {
      Output.message("callgate: PORT: \(text.debugDescription) is no port; set it to 1–65535, or use --port")
      throw ExitStatus.configuration.exit
    }
    return port
  }
}
