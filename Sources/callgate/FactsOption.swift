// The option `--facts`, which makes the emulator respond like a recorded account.

import ArgumentParser
import Configuration
import Gateway
import Sandbox

/// The option with the recorded response of a real account, for the commands that run the emulator.
struct FactsOption: ParsableArguments {
  @Option(
    name: .customLong("facts"),
    help: ArgumentHelp(
      "Respond like your account: a file from callgate test-call --facts.", valueName: "file"),
    completion: .file())
  var file: String?

  /// Reads the file, or prints what is wrong with it and ends the command; nil without a file.
  func load() throws -> AccountFacts? {
    guard let file else { return nil }
    let bytes: [UInt8]
    do {
      bytes = try ConfigurationFiles.system.read(file, 1 << 20).bytes
    } catch {
      Output.message("callgate: --facts \(file): \(error)")
      throw ExitStatus.configuration.exit
    }
    do throws(AccountFacts.Malformed) {
      return try AccountFacts(parsing: bytes)
    } catch {
      for line in error.lines(file) { Output.message("callgate: --facts \(line)") }
      throw ExitStatus.configuration.exit
    }
  }
}
