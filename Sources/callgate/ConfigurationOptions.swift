// The options that tell a command where to find its configuration.

import ArgumentParser
import Configuration
import Documents
import Gateway
import Glibc
import Platform

/// The options for the source of a command's configuration.
struct ConfigurationOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The YAML file. Without it: CALLGATE_CONFIG, or CALLGATE_CONFIG_TEXT.", valueName: "file"),
    completion: .file())
  var config: String?

  /// All sources of the configuration.
  /// - Parameter flags: Further settings from the command line.
  func sources(_ flags: ConfigurationFlags = ConfigurationFlags()) -> ConfigurationSources {
    var flags = flags
    flags.config = config
    return ConfigurationSources(
      flags: flags, environment: ProcessEnvironment.variables(), files: .system,
      writesToTerminal: Output.isTerminal,
      diskLife: DiskLife.ofFile, identify: FileIdentity.init(path:))
  }

  /// Loads the configuration, or prints every problem and ends the command.
  ///
  /// Notices go to stderr, one line each.
  func load(
    for purpose: ConfigurationPurpose, _ flags: ConfigurationFlags = ConfigurationFlags()
  ) throws -> Configuration {
    let sources = sources(flags)
    do throws(ConfigurationErrors) {
      let loaded = try ConfigurationLoader.load(sources, for: purpose)
      for notice in loaded.notices { Self.show("notice: \(notice)") }
      return loaded.configuration
    } catch {
      for notice in error.notices { Self.show("notice: \(notice)") }
      for problem in error.problems { Self.show(problem.description) }
      if purpose == .serve { Self.showFirstSteps(sources) }
      if purpose == .check {
        Output.message(error.problems.count == 1 ? "1 problem" : "\(error.problems.count) problems")
      }
      throw (error.isMisuse ? ExitStatus.usage : .configuration).exit
    }
  }

  /// Prints the first steps if neither an option nor a variable names a configuration.
  private static func showFirstSteps(_ sources: ConfigurationSources) {
    let names = ["CALLGATE_CONFIG", "CALLGATE_CONFIG_TEXT", "TD_ACCOUNT_NAME"]
    guard sources.flags.config == nil, names.allSatisfy({ sources.environment[$0] == nil }) else { return }
    let start = "callgate.yaml"
    Output.message("")
    guard unsafe access(start, R_OK) != 0 else {
      return Output.message("This folder has a \(start). To use it: callgate serve \(start)")
    }
    Output.message("To write a configuration: callgate init")
    Output.message("To try the server without one: callgate serve --sandbox")
  }

  /// Writes a message, wrapped between words on a terminal.
  private static func show(_ text: String) {
    Output.message(Style.wrapped(text, indent: 4, descriptor: STDERR_FILENO))
  }
}
