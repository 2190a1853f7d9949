// The command `callgate key`, which groups the commands for keys.

import ArgumentParser

/// `callgate key`: makes and describes keys.
struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "Generates a private key or a store key, or describes a key.",
    subcommands: [KeyGenerateCommand.self, KeyInspectCommand.self])
}
