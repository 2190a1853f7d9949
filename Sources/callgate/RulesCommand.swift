// The command `callgate rules test`, which runs a table of tests against the rules.

import ArgumentParser
import Configuration
import Diagnosis
import Documents
import Gateway

/// `callgate rules`: commands for rules without a server.
struct RulesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rules", abstract: "Tests rules against a table of expected decisions.",
    subcommands: [RulesTestCommand.self])
}

/// `callgate rules test`: tests the rules with a table of requests, each with the expected verdict.
struct RulesTestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Runs a table of tests against the configuration's rules.",
    discussion: """
      The file is YAML with a list under tests. Each test describes a request and the expected decision:

        tests:
          - name: closed on Sunday
            action: callback
            at: "2026-11-22T10:00:00-05:00"
            caller: ios-app
            phone: "+14155550100"
            expect: deny
            code: closed
            rule: opening-hours

      Prints a line with the reason for each test that fails, and then the numbers of passed and failed tests. It needs no \
      server, store or credential. docs/build/rules.md explains every member.

      Examples:
        callgate rules test tests.yaml
        callgate rules test --config callgate.yaml tests.yaml

      Exit status: 0 if all tests pass, 1 if not, 64 if a test names an unknown caller, 78 for another mistake in a file.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Argument(help: "The file of tests.", completion: .file())
  var file: String

  func run() throws {
    let configuration = try options.load(for: .explain)
    let result: OfflineRules.TableResult
    do throws(ConfigurationErrors) {
      result = try OfflineRules(configuration, transport: nil).test(file, files: .system)
    } catch {
      for problem in error.problems { Output.message(problem.description) }
      let isCallers = error.problems.allSatisfy { $0.subject?.hasSuffix(".caller") == true }
      throw (isCallers ? ExitStatus.usage : .configuration).exit
    }
    for failure in result.failures { Output.line(failure) }
    Output.line("\(result.passed) passed, \(result.failures.count) failed")
    guard result.failures.isEmpty else { throw ExitCode.failure }
  }
}
