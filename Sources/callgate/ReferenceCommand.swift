// The command `callgate reference`, which generates the documents about settings.

import ArgumentParser
import Diagnosis
import Gateway

/// `callgate reference`: prints the documents that are made from the settings' declarations. For those who work on
/// the gateway, hence not listed in the help.
struct ReferenceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reference",
    abstract: "Prints docs/configuration.md, README's table of variables, or app.json.",
    shouldDisplay: false)

  @Flag(help: "Print the table of variables alone, as it stands in README.md.")
  var variables = false

  @Flag(help: "Print app.json.")
  var heroku = false

  func run() {
    if heroku {
      Output.text(HerokuManifest.document)
    } else {
      Output.text(variables ? ConfigurationReference.variables : ConfigurationReference.document)
    }
  }
}
