import ArgumentParser
import Gateway

/// `callgate check`: everything `serve` would refuse to start with, without starting anything.
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Validates the configuration, offline.",
    discussion: """
      Reads the YAML file and the environment as serve would, opens the key files, and prints every problem with its \
      place and what mends it. Talkdesk is not asked; that is what doctor does.

      Examples:
        callgate check
        callgate check --config callgate.yaml

      Exit status: 0 if serve would start, 78 if not.
      """)

  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    let configuration = try options.load(for: .check)
    Output.line("The configuration is valid.")
    for line in ConfigurationSummary(configuration).lines { Output.line(line) }
  }
}
