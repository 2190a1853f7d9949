// The entry point of the command line: lists the subcommands and explains unknown ones.

import ArgumentParser
import Documents
import Gateway
import Platform

/// The command line of the gateway.
@main
struct Callgate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "callgate",
    abstract: "Issues Talkdesk tokens and requests callbacks according to your rules.",
    version: BuildInformation.line,
    groupedSubcommands: [
      CommandGroup(
        name: "Start",
        subcommands: [
          InitCommand.self, CheckCommand.self, DoctorCommand.self, TestCallCommand.self, ServeCommand.self,
        ]),
      CommandGroup(
        name: "Operate",
        subcommands: [
          StatusCommand.self, PauseCommand.self, ResumeCommand.self, ReloadCommand.self,
          InstallationsCommand.self, NumbersCommand.self, OperatorCommand.self, TalkdeskCommand.self,
          ProbeCommand.self, HealthcheckCommand.self,
        ]),
      CommandGroup(name: "Rules", subcommands: [RulesCommand.self, ExplainCommand.self]),
      CommandGroup(
        name: "Keys and store", subcommands: [KeyCommand.self, MigrateCommand.self, AuditCommand.self]),
      CommandGroup(
        name: "Tools",
        subcommands: [
          SandboxCommand.self, TokenCommand.self, ReferenceCommand.self, VersionCommand.self,
        ]),
    ])

  static func main() {
    var arguments = Array(CommandLine.arguments.dropFirst())
    // Some platforms pass the whole command to the image's entry point, so its name is repeated: `heroku run
    // -- callgate pause`.
    if arguments.first == "callgate" { arguments.removeFirst() }
    if let mistake = ArgumentMistake.first(in: arguments) {
      Output.message("callgate: \(mistake.message)")
      exit(withError: (mistake == .tilde ? ExitStatus.configuration : .usage).exit)
    }
    if let message = unknownCommand(arguments, of: Self.self, named: "callgate") {
      Output.message(message)
      exit(withError: ExitStatus.usage.exit)
    }
    do {
      var command = try parseAsRoot(arguments)
      // A server may run without standard output. The other commands exist only for their output.
      if !(command is ServeCommand) { ProcessSetup.occupyStandardDescriptors() }
      try command.run()
    } catch {
      exit(withError: error)
    }
  }

  /// The message about an unknown subcommand, with the one that was probably meant. Nil if the arguments name
  /// no subcommand, or a known one.
  private static func unknownCommand(
    _ arguments: [String], of command: any ParsableCommand.Type, named name: String
  ) -> String? {
    let subcommands = command.configuration.subcommands
    guard let word = arguments.first, !word.hasPrefix("-"), word != "help", !subcommands.isEmpty else {
      return nil
    }
    let named = subcommands.first {
      $0.configuration.commandName == word || $0.configuration.aliases.contains(word)
    }
    if let subcommand = named {
      return unknownCommand(Array(arguments.dropFirst()), of: subcommand, named: "\(name) \(word)")
    }
    let shown = subcommands.map { $0.configuration }.filter { $0.shouldDisplay }.compactMap { $0.commandName }
    let meant = Spelling.nearest(to: word, among: shown).map { " Did you mean \($0)?" } ?? ""
    return "callgate: there is no command \"\(word)\".\(meant) \(name) --help lists the commands."
  }
}
