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
    let fromEnvironment = ProcessInfo.processInfo.environment["PORT"].flatMap(UInt16.init)
    let url = "http://127.0.0.1:\(port ?? fromEnvironment ?? 8080)/livez"
    let failure: String? = Blocker.run {
      do {
        let transport = try CurlTransport()
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
}
