import ArgumentParser
import Gateway

/// The command line of the gateway.
@main
struct Callgate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "callgate", abstract: "Vends Talkdesk tokens and callbacks by your rules.",
    version: Version.current,
    subcommands: [
      ServeCommand.self, CheckCommand.self, DoctorCommand.self, ProbeCommand.self, ExplainCommand.self,
      RulesCommand.self, TokenCommand.self,
      KeyCommand.self, SandboxCommand.self, MigrateCommand.self,
      HealthcheckCommand.self, ReferenceCommand.self,
    ])
}
