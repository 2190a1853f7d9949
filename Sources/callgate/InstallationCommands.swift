// The commands `installations list`, `approve`, `deny` and `revoke`, for the installations of a running
// server.

import ArgumentParser
import Diagnosis
import Glibc

/// `callgate installations`: commands for phones with their own credential.
struct InstallationsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "installations",
    abstract: "Lists, approves, denies and revokes installations at a running server.",
    discussion: """
      An installation is one app on one phone, with a secret of its own. Where an operator authorizes installations, the \
      customer reads a code from the phone to you, and you approve or deny that code.
      """,
    subcommands: [
      InstallationListCommand.self, ApproveCommand.self, DenyCommand.self, RevokeCommand.self,
    ])
}

/// `callgate installations list`: lists installations, all or those in one state, page by page.
struct InstallationListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists installations and the requests for them.",
    discussion: """
      Without --state the command lists every state: pending, approved, active, denied and revoked. The list shows no user code. \
      All times are in UTC.

      \(AdminOptions.discussion)

      Examples:
        callgate installations list
        callgate installations list --state pending
        callgate installations list --state active --json

      \(AdminOptions.exits)
      """)

  @OptionGroup var admin: AdminOptions

  @Option(
    help: ArgumentHelp(
      "The state: \(AdminClient.installationStates.joined(separator: ", ")).", valueName: "state"),
    completion: .list(AdminClient.installationStates))
  var state: String?

  @Flag(help: "Print each installation as one line of JSON.")
  var json = false

  func validate() throws {
    guard let state, !AdminClient.installationStates.contains(state) else { return }
    throw ValidationError(
      "--state \(state): write one of \(AdminClient.installationStates.joined(separator: ", "))")
  }

  func run() throws {
    try admin.printPages(asJSON: json) { .installations(state: state, after: $0) }
  }
}

/// The confirmation before a command changes an installation.
struct InstallationConfirmation: ParsableArguments {
  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  /// The exit statuses of the commands that ask for confirmation.
  static let exits =
    "Exit status: 0 if done, 64 for wrong arguments or without a terminal and --yes, 69 if the server does not respond, 70 if "
    + "another program responds, 77 if the server refuses or you said no, 78 if the configuration does not say where the "
    + "server is."

  /// Ends the command if it needs a confirmation but cannot ask for one. Call this before anything is sent.
  func requireAnswer() throws {
    guard !yes, isatty(STDIN_FILENO) != 1 else { return }
    Output.message(
      "callgate: the command asks for confirmation on a terminal. Without a terminal, add --yes.")
    throw ExitStatus.usage.exit
  }

  /// Asks the question. Ends the command at any answer other than yes.
  func ask(_ question: String) throws {
    guard !yes, !Output.isConfirmed(question) else { return }
    Output.message("Nothing was changed.")
    throw ExitStatus.refused.exit
  }

  /// Shows the request that has this user code, asks for confirmation, and sends the command.
  func decide(_ code: String, at admin: AdminOptions, _ question: String, _ command: AdminClient.Command)
    throws
  {
    try requireAnswer()
    for line in try admin.ask(for: .findInstallation(userCode: code)).lines { Output.line(line) }
    try ask(question)
    for line in try admin.ask(for: command).lines { Output.line(line) }
  }
}

/// `callgate installations approve`: approves a request, so that the phone gets its secret.
struct ApproveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "approve",
    abstract: "Approves the request that waits under a user code.",
    discussion: """
      Shows the request and asks for confirmation. Compare the app and the phone with what the customer says: the names come \
      from the phone, so anyone can write them. If the approval replaces an installation, the command warns you and says how many \
      of its appointments end. After approval the phone gets its secret when it next polls.

      \(AdminOptions.discussion)

      Examples:
        callgate installations approve BCDF-GHJK
        callgate installations approve BCDF-GHJK --yes

      \(InstallationConfirmation.exits)
      """)

  @OptionGroup var admin: AdminOptions
  @OptionGroup var confirmation: InstallationConfirmation

  @Argument(help: "The code that the customer reads to you: BCDF-GHJK.")
  var code: String

  func run() throws {
    try confirmation.decide(
      code, at: admin, "Approve this installation?", .approveInstallation(userCode: code))
  }
}

/// `callgate installations deny`: denies a request, so that the phone gets no secret.
struct DenyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "deny",
    abstract: "Denies the request that waits under a user code.",
    discussion: """
      Shows the request and asks for confirmation. The phone's next poll gets 403 denied.

      \(AdminOptions.discussion)

      Examples:
        callgate installations deny BCDF-GHJK

      \(InstallationConfirmation.exits)
      """)

  @OptionGroup var admin: AdminOptions
  @OptionGroup var confirmation: InstallationConfirmation

  @Argument(help: "The code that the customer reads to you: BCDF-GHJK.")
  var code: String

  func run() throws {
    try confirmation.decide(code, at: admin, "Deny this installation?", .denyInstallation(userCode: code))
  }
}

/// `callgate installations revoke`: revokes the secret of an installation, or of all installations of a
/// subject.
struct RevokeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revokes one installation, or all of a subject.",
    discussion: """
      Asks for confirmation. Every instance refuses the secret within 2 seconds, and callbacks of the installation that wait in \
      the queue are not made. Its scheduled appointments are cancelled at once. With --subject the command revokes the installations of this subject of every issuer.

      \(AdminOptions.discussion)

      Examples:
        callgate installations revoke 5f1c0b5e-8a77-4a0e-9d2e-0e5a2f6d3c11
        callgate installations revoke --subject ann --yes

      \(InstallationConfirmation.exits)
      """)

  @OptionGroup var admin: AdminOptions
  @OptionGroup var confirmation: InstallationConfirmation

  @Argument(help: "The client id of the installation, as the list shows it.")
  var clientID: String?

  @Option(help: ArgumentHelp("The subject whose installations to revoke.", valueName: "subject"))
  var subject: String?

  func validate() throws { _ = try target }

  func run() throws {
    try confirmation.requireAnswer()
    let target = try target
    switch target {
    case .client(let id): try confirmation.ask("Revoke the installation \(id)?")
    case .subject(let subject): try confirmation.ask("Revoke all installations of the subject \(subject)?")
    }
    for line in try admin.ask(for: .revokeInstallations(target)).lines { Output.line(line) }
  }

  private var target: AdminClient.InstallationTarget {
    get throws {
      switch (clientID, subject) {
      case (let id?, nil): return .client(id)
      case (nil, let subject?): return .subject(subject)
      default: throw ValidationError("Give either a client id or --subject.")
      }
    }
  }
}
