// The configuration options for commands that also accept the file as an argument.

import ArgumentParser
import Configuration
import Gateway

/// The configuration of a command that also accepts its file as an argument: `callgate check callgate.yaml`.
struct ConfigurationArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp("The YAML file; the same as --config.", valueName: "file"), completion: .file())
  var file: String?

  @OptionGroup var options: ConfigurationOptions

  func validate() throws {
    guard let file, let config = options.config, file != config else { return }
    throw ValidationError("Two files are given, \(file) and --config \(config). Give one.")
  }

  /// All sources of the configuration.
  func sources(_ flags: ConfigurationFlags = ConfigurationFlags()) -> ConfigurationSources {
    var options = options
    options.config = file ?? options.config
    return options.sources(flags)
  }

  /// Loads the configuration, or prints every problem and ends the command.
  func load(
    for purpose: ConfigurationPurpose, _ flags: ConfigurationFlags = ConfigurationFlags()
  ) throws -> Configuration {
    var options = options
    options.config = file ?? options.config
    return try options.load(for: purpose, flags)
  }
}
