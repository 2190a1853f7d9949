// The command `callgate reference`, which generates the documents about settings.

public import ArgumentParser
public import Diagnosis
import Gateway

/// `callgate reference`: prints the documents that are made from the settings' declarations.
struct ReferenceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reference",
    abstract: "Prints every setting as Markdown, or the JSON Schemas for editors.",
    discussion: """
      Prints docs/operate/configuration.md: all settings, with their meanings and defaults. With --schema it prints the JSON \
      Schema (2020-12) of callgate.yaml or of the file of tests. Name the schema in the first line of the YAML file:
        # yaml-language-server: $schema=callgate.schema.json

      Examples:
        callgate reference
        callgate reference --schema > callgate.schema.json
        callgate reference --schema tests > tests.schema.json

      Exit status: 0.
      """)

  @Flag(help: "Print only the table of variables.")
  var variables = false

  @Flag(help: "Print app.json.")
  var heroku = false

  @Flag(help: "Print the JSON Schema of callgate.yaml, or of the file of tests.")
  var schema = false

  @Argument(help: "With --schema: callgate or tests.")
  var document: ConfigurationReference.Schema?

  func validate() throws {
    guard document == nil || schema else {
      throw ValidationError("write --schema in front of the name of a schema")
    }
  }

  func run() {
    if schema {
      Output.text((document ?? .callgate).document)
    } else if heroku {
      Output.text(HerokuManifest.document)
    } else {
      Output.text(variables ? ConfigurationReference.variables : ConfigurationReference.document)
    }
  }
}

extension ConfigurationReference.Schema: ExpressibleByArgument {}
