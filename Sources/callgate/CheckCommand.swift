// The command `callgate check`, which validates a configuration without starting a server.

import ArgumentParser
import Configuration
import Gateway

/// `callgate check`: validates the configuration offline, and reports every problem in it.
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Validates the configuration, offline.",
    discussion: """
      Reads the YAML file and the environment as serve does, and opens the key files. It prints every problem with its place \
      and a fix, then the rules in force and the source of each setting.

      check uses no network and opens no store. It does not check whether Talkdesk accepts the credential, whether the store, \
      an issuer's keys or a remote policy can be reached, or whether the port is free. doctor checks all of these except the port.

      Examples:
        callgate check
        callgate check callgate.yaml

      Exit status: 0 if the configuration is valid, 78 if not.
      """)

  @OptionGroup var source: ConfigurationArgument

  func run() throws {
    let configuration = try source.load(for: .check)
    Output.line("The configuration is valid.")
    for line in ConfigurationSummary(configuration).lines { Output.line(Style.wrapped(line, indent: 4)) }
  }
}
