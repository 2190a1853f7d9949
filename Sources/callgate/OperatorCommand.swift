// The command `callgate operator new`, which makes a token for an operator.

import ArgumentParser
import Diagnosis
import Gate
import JOSE

struct OperatorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operator", abstract: "Makes a token for an operator.",
    subcommands: [OperatorNewCommand.self])
}

/// `callgate operator new`: makes a token, and its line for the configuration.
struct OperatorNewCommand: ParsableCommand {
  private static let roles = Operator.Role.allCases.map(\.rawValue)

  static let configuration = CommandConfiguration(
    commandName: "new",
    abstract: "Prints a new token and its line for the configuration.",
    discussion: """
      Prints the token, then the line for admin.operators in callgate.yaml. The line has only the token's SHA-256. Give the token \
      to the operator, who sets CALLGATE_OPERATOR_TOKEN or types it on the page at /admin/. The server accepts it after a reload.

      Roles: read shows everything and changes nothing. approve can also decide about installations and block numbers. operate can \
      also pause, resume and reload.

      Examples:
        callgate operator new ann --role operate
        callgate operator new grafana

      Exit status: 0 if done, 64 for wrong arguments, 70 without random numbers.
      """)

  @Argument(help: "The operator's name: 1 to 64 visible characters.")
  var name: String

  @Option(
    help: ArgumentHelp("The role: \(roles.joined(separator: ", ")).", valueName: "role"),
    completion: .list(roles))
  var role = Operator.Role.read.rawValue

  func validate() throws {
    guard Operator.isName(name) else {
      throw ValidationError(
        "Give a name of 1 to \(Operator.longestName) visible characters, with spaces only inside.")
    }
    guard Self.roles.contains(role) else {
      throw ValidationError("--role \(role): write one of \(Self.roles.joined(separator: ", "))")
    }
  }

  func run() throws {
    do throws(OpenSSLError) {
      let made = try NewOperator(name: name, role: role)
      Output.line(made.token)
      Output.line(made.line)
      Output.message(
        "note: the token is shown only once; the line goes into admin.operators in callgate.yaml")
    } catch {
      Output.message("operator new: \(error)")
      throw ExitStatus.internal.exit
    }
  }
}
