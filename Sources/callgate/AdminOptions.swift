// The options that tell an operator's command which server to contact and with which token.

import ArgumentParser
import Configuration
import Diagnosis
import Documents
import Gateway
import Platform
import Upstream

/// The options that select the running server for an operator's command.
struct AdminOptions: ParsableArguments {
  /// Where the command finds the server, for the help of `callgate status`.
  static let search = """
    The command finds the server through --url, else the admin listener in the configuration file, else the public port \
    if an admin token is set, else http://127.0.0.1:9091. The token comes from --admin-token-file, \
    CALLGATE_OPERATOR_TOKEN or CALLGATE_OPERATOR_TOKEN_FILE, else CALLGATE_ADMIN_TOKEN, CALLGATE_ADMIN_TOKEN_FILE or the file's \
    admin.token_file. A listener on loopback needs a token only if the configuration has admin.operators or admin.jwt.
    """

  /// A reference to that help, for the other commands.
  static let discussion =
    "By default the command talks to the server on this machine. callgate status --help explains how it finds the server "
    + "and the token."

  /// The exit statuses, for the help of each command.
  static let exits =
    "Exit status: 0 if done, 64 for wrong arguments, 69 if the server does not respond, 70 if another program "
    + "responds, 77 if the server refuses, 78 if the configuration does not say where the server is."

  @OptionGroup var options: ConfigurationOptions

  @Option(
    help: ArgumentHelp("The server's address: http://127.0.0.1:9091.", valueName: "url"))
  var url: String?

  @Option(help: ArgumentHelp("A file with an operator's token or the admin token.", valueName: "file"))
  var adminTokenFile: String?

  @Option(
    help: ArgumentHelp(
      "A PEM file of the certificate authorities to trust instead of the system's.",
      valueName: "file"))
  var caFile: String?

  /// The options that name the server, as they were given.
  var given: [String] {
    [
      ("--config", options.config), ("--url", url), ("--admin-token-file", adminTokenFile),
      ("--ca-file", caFile),
    ]
    .flatMap { name, value in value.map { [name, $0] } ?? [] }
  }

  /// Sends a command to the server. If there is no result, prints the reason and ends the command.
  func ask(for command: AdminClient.Command) throws -> AdminClient.Reply {
    ProcessSetup.ignoreBrokenPipes()
    let destination: AdminDestination
    do throws(ConfigurationErrors) {
      destination = try AdminDestination.find(
        url: url, tokenFile: adminTokenFile, sources: options.sources())
    } catch {
      for problem in error.problems { Output.message(problem.description) }
      throw (error.isMisuse ? ExitStatus.usage : .configuration).exit
    }
    let settings = TransportSettings(
      authorities: caFile.map { ConfigurationFiles.system.authorities(in: $0) } ?? destination.authorities,
      pinnedKey: caFile == nil ? destination.pinnedKey : nil)
    let result: Result<AdminClient.Reply, Failure> = Blocker.run {
      do throws(TransportSetupError) {
        let transport = try CurlTransport(settings)
        let result: Result<AdminClient.Reply, Failure>
        do throws(AdminClient.Failure) {
          result = .success(try await AdminClient(destination, transport: transport).run(command))
        } catch {
          result = .failure(.client(error))
        }
        await transport.shutdown()
        return result
      } catch {
        return .failure(.setup(error))
      }
    }
    switch result {
    case .success(let value): return value
    case .failure(let failure): throw status(failure).exit
    }
  }

  /// Requests the pages of a list one after the other, and prints each.
  func printPages(asJSON: Bool, _ command: (_ after: String?) -> AdminClient.Command) throws {
    var after: String?
    repeat {
      let page = try ask(for: command(after))
      if asJSON {
        if !page.json.isEmpty { Output.text(page.json + "\n") }
      } else {
        for line in page.lines { Output.line(line) }
      }
      after = page.next
    } while after != nil
  }

  private enum Failure: Error {
    case client(AdminClient.Failure)
    case setup(TransportSetupError)
  }

  /// Prints a failure. Returns the status to exit with.
  private func status(_ failure: Failure) -> ExitStatus {
    switch failure {
    case .client(.invalidURL(let detail)):
      Output.message("callgate: --url: \(detail) — write it as https://HOST, or http:// for loopback")
      return .usage
    case .client(.unreachable(let text)):
      Output.message("callgate: \(text)")
      if url == nil, options.config == nil {
        Output.message(
          "To ask another address: --url URL. To ask the server of a configuration: --config FILE")
        Output.message(
          "To ask a sandbox: --url http://localhost:8080, with the token from http://localhost:8080/_sandbox/operator"
        )
      }
      return .unavailable
    case .client(.foreign(let text)):
      Output.message("callgate: \(text)")
      return .internal
    case .client(.refused(let lines)):
      for (index, line) in lines.enumerated() { Output.message(index == 0 ? "callgate: \(line)" : line) }
      return .refused
    case .setup(let error):
      Output.message("callgate: \(error)")
      if case .library = error { return .internal }
      return .usage
    }
  }
}
