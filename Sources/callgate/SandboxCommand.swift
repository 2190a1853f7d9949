// The command `callgate sandbox`, which runs the emulated Talkdesk alone.

import ArgumentParser
import Configuration
import Gateway
import Glibc
import HTTP
import JOSE
import Platform
import Sandbox
import Texts
import Upstream

/// `callgate sandbox`: runs only the emulated Talkdesk.
struct SandboxCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sandbox",
    abstract: "Runs only an emulated Talkdesk.",
    discussion: """
      Prints the variables that a server needs to use this emulator, in shell syntax, and then its address. The printed \
      private key is a test key: it works with this emulator only. The command never prints a key or a secret of yours.

      Examples:
        callgate sandbox --port 9100
        callgate sandbox --client-key talkdesk.pem
        callgate sandbox --client-secret-file secret.txt
        callgate sandbox --client-key old.pem --client-key new.pem
        callgate sandbox --facts facts.json

      For a server in the same shell, write the output to a file and read the variables from it:

        rm -f sandbox.env; (umask 077; exec callgate sandbox --port 9100 >sandbox.env) &
        until grep -qs listening sandbox.env || ! kill -0 $!; do sleep 0.1; done
        set -a; eval "$(grep '^TD_' sandbox.env)"; set +a

      With two keys of one client you can try a rotation. With --facts the sandbox responds as your account responded to \
      callgate test-call.
      """)

  @Option(help: ArgumentHelp("The port on 127.0.0.1, 0 for a free one.", valueName: "number"))
  var port: UInt16 = 0

  @Option(
    name: .customLong("client-key"),
    help: ArgumentHelp(
      "A public or private key to trust; then the command prints no private key. Several keys belong to one client, and the "
        + "variables name the first.", valueName: "file"))
  var clientKeys: [String] = []

  @Option(help: ArgumentHelp("A file with a client secret to trust instead of a key.", valueName: "file"))
  var clientSecretFile: String?

  @OptionGroup var facts: FactsOption

  func validate() throws {
    guard clientSecretFile == nil || clientKeys.isEmpty else {
      throw ValidationError("Give --client-key or --client-secret-file, not both.")
    }
  }

  func run() throws {
    let signals = SignalWatch()
    ProcessSetup.ignoreBrokenPipes()
    do {
      try ProcessSetup.raiseDescriptorLimit()
      let keys = try clientKeys.map { try content(of: $0, "--client-key") }
      let talkdesk = try LocalTalkdesk.start(
        port: port, clientKey: keys.first, furtherKeys: Array(keys.dropFirst()),
        clientSecret: try clientSecret(), facts: try facts.load(), post: try posting())
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
        Output.message(
          "callgate: cannot listen on 127.0.0.1:\(port): \(error)"
            + (error.isAddressInUse ? " — end the program that uses it, or choose another port: --port" : ""))
        throw ExitStatus.unavailable.exit
      }
    } catch let error as SystemError {
      Output.message("callgate: \(error)")
      throw ExitStatus.internal.exit
    }
  }

  /// The function that sends the messages of registered triggers. A message that fails is not sent again.
  private func posting() throws -> Emulator.Post {
    let transport: CurlTransport
    do { transport = try CurlTransport(TransportSettings()) } catch {
      Output.message("callgate: the HTTP client cannot be created: \(error)")
      throw ExitStatus.internal.exit
    }
    return { url, content in
      _ = try? await transport.send(
        OutboundRequest(
          method: .post, url: url, fields: ["Content-Type": "application/json"], content: content,
          timeout: .seconds(10)))
    }
  }

  /// The secret to trust: the file's content without a final newline, as a server reads it.
  private func clientSecret() throws -> Secret? {
    guard let clientSecretFile else { return nil }
    var bytes = try content(of: clientSecretFile, "--client-secret-file")
    bytes.dropFinalLineFeed()
    guard !bytes.isEmpty else {
      Output.message("callgate: --client-secret-file \(clientSecretFile): the file is empty")
      throw ExitStatus.configuration.exit
    }
    return Secret(wiping: &bytes)
  }

  private func content(of file: String, _ option: String) throws -> [UInt8] {
    do {
      return try ConfigurationFiles.system.read(file, 65_536).bytes
    } catch {
      Output.message("callgate: \(option) \(file): \(error)")
      throw ExitStatus.configuration.exit
    }
  }
}
