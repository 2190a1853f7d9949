import ArgumentParser
import Foundation
import Gateway
import Platform

/// Where commands take their configuration from.
struct ConfigurationOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The YAML file. Without it: CALLGATE_CONFIG, or CALLGATE_CONFIG_TEXT.", valueName: "file"))
  var config: String?

  /// Everything the configuration comes from.
  func sources(host: String? = nil, port: String? = nil) -> ConfigurationSources {
    ConfigurationSources(
      flags: ConfigurationFlags(config: config, host: host, port: port),
      environment: ProcessInfo.processInfo.environment, files: .system, writesToTerminal: Output.isTerminal,
      diskLife: DiskLife.ofFile)
  }

  /// Loads the configuration, or says everything that is wrong with it and ends the command.
  ///
  /// Notices go to stderr, one line each.
  func load(
    for purpose: ConfigurationPurpose, host: String? = nil, port: String? = nil
  ) throws -> Configuration {
    let sources = sources(host: host, port: port)
    do throws(ConfigurationErrors) {
      let loaded = try ConfigurationLoader.load(sources, for: purpose)
      for notice in loaded.notices { Output.message("notice: \(notice)") }
      return loaded.configuration
    } catch {
      for notice in error.notices { Output.message("notice: \(notice)") }
      for problem in error.problems { Output.message(problem.description) }
      throw (error.isMisuse ? ExitStatus.usage : .configuration).exit
    }
  }
}
