import ArgumentParser
import Foundation
import Gateway
import Platform
import Sandbox

/// `callgate sandbox`: the emulated Talkdesk alone.
struct SandboxCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sandbox",
    abstract: "Runs an emulated Talkdesk alone.",
    discussion: """
      Prints the variables that make a server its client, fit for a shell, then where it listens. The private key is a \
      test key: it opens nothing but this emulator.

      Examples:
        callgate sandbox --port 9100
        callgate sandbox --client-key talkdesk.pem
      """)

  @Option(help: ArgumentHelp("The port on 127.0.0.1, 0 for a free one.", valueName: "number"))
  var port: UInt16 = 0

  @Option(
    help: ArgumentHelp(
      "A key to trust, public or private; no private key is printed then.", valueName: "file"))
  var clientKey: String?

  func run() throws {
    let signals = SignalWatch()
    ProcessSetup.ignoreBrokenPipes()
    do {
      try ProcessSetup.raiseDescriptorLimit()
      let talkdesk = try LocalTalkdesk.start(port: port, clientKey: try key())
      for line in talkdesk.shellLines { Output.line(line) }
      Output.line("callgate: listening on \(talkdesk.server.baseURL)")
      signals.waitForEnd()
      signals.onSecondInterrupt { _exit(130) }
      Blocker.run { await talkdesk.server.stop() }
    } catch let error as LocalTalkdesk.StartError {
      switch error {
      case .key(let error):
        Output.message("callgate: --client-key: \(error)")
        throw ExitStatus.configuration.exit
      case .system(let error):
        Output.message("callgate: cannot listen on 127.0.0.1:\(port): \(error)")
        throw ExitStatus.unavailable.exit
      }
    } catch let error as SystemError {
      Output.message("callgate: \(error)")
      throw ExitStatus.internal.exit
    }
  }

  private func key() throws -> [UInt8]? {
    guard let clientKey else { return nil }
    do {
      return try ConfigurationFiles.system.read(clientKey, 65_536).bytes
    } catch {
      Output.message("callgate: --client-key \(clientKey): \(error)")
      throw ExitStatus.configuration.exit
    }
  }
}
