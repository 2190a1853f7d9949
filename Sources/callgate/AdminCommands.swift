// The commands `status`, `pause`, `resume` and `reload`, which operate a running server.

import ArgumentParser
import Diagnosis
import Gateway
import Glibc

/// `callgate status`: shows the state of a running server.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Shows the state of a running server.",
    discussion: """
      Shows what is paused, the configuration and its last reload, rules, tokens and keys.

      \(AdminOptions.search)

      Examples:
        callgate status
        callgate status --json
        callgate status --url https://calls.example.com --admin-token-file token

      \(AdminOptions.exits)
      """)

  @OptionGroup var admin: AdminOptions

  @Flag(help: "Print the JSON of /admin/status.")
  var json = false

  func run() throws {
    let reply = try admin.ask(for: .status)
    if json { return Output.line(reply.json) }
    for line in reply.lines { Output.line(line) }
  }
}

/// The scope and action of `pause` and `resume`: by default all callers and all actions.
struct StopTarget: ParsableArguments {
  @Option(
    help: ArgumentHelp("The scope: all, app or caller.", valueName: "scope"),
    completion: .list(StopOrder.scopes))
  var scope = "all"

  @Option(help: ArgumentHelp("The id of the app or caller, with --scope app or caller.", valueName: "id"))
  var id: String?

  @Option(
    help: ArgumentHelp(
      "The action: \(StopOrder.actions.joined(separator: ", ")). You can also write \(Self.words). Without it: all.",
      valueName: "action"),
    completion: .list(StopOrder.actions))
  var action: String?

  /// The alternative words for actions, for the help.
  private static let words = StopOrder.words.map { "\($0.word) (\($0.action))" }.joined(separator: ", ")

  /// The order that these options describe, without reason and duration.
  var order: StopOrder { StopOrder(scope: scope, id: id, action: StopOrder.action(named: action ?? "all")) }

  func validate() throws {
    guard StopOrder.scopes.contains(scope) else {
      throw ValidationError("--scope \(scope): write all, app or caller")
    }
    guard StopOrder.actions.contains(order.action) else {
      let known = StopOrder.actions + StopOrder.words.map { $0.word }
      throw ValidationError("--action \(action ?? ""): write one of \(known.joined(separator: ", "))")
    }
    if scope == "all", id != nil {
      throw ValidationError("--id names one app or caller: add --scope app or --scope caller")
    }
    if scope != "all", id?.isEmpty != false {
      throw ValidationError("--scope \(scope): say which \(scope) with --id")
    }
  }
}

/// `callgate pause`: pauses tokens, callbacks or other actions of a running server.
struct PauseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Pauses tokens, callbacks or both at a running server.",
    discussion: """
      On a terminal the command asks what to pause and for how long, unless you give --action or --yes. With --yes, or \
      without a terminal, it pauses everything for everyone until you run callgate resume.

      The server keeps running and refuses the next request with 403 stopped. Other instances with the same database follow \
      within 2 seconds. status and the log show the reason; callers never see it.

      \(AdminOptions.discussion)

      Examples:
        callgate pause
        callgate pause --action callback --reason "agents have no phones" --for 30m
        callgate pause --scope app --id shop --action access

      \(AdminOptions.exits) Without an answer to its questions the command exits with 64 and pauses nothing.
      """,
    aliases: ["stop"])

  @OptionGroup var admin: AdminOptions
  @OptionGroup var target: StopTarget

  @Option(help: ArgumentHelp("The reason, for operators; at most 200 characters.", valueName: "text"))
  var reason: String?

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "The duration: 90s, 30m, 2h or 1d. Without it: until you run callgate resume.", valueName: "time"))
  var duration: String?

  @Flag(help: "Do not ask. Without --action this pauses everything.")
  var yes = false

  private var order: StopOrder {
    var order = target.order
    (order.reason, order.duration, order.server) = (reason, duration, admin.given)
    return order
  }

  func validate() throws {
    if let mistake = order.mistake { throw ValidationError(mistake) }
  }

  func run() throws {
    var order = order
    if !yes, target.action == nil, isatty(STDIN_FILENO) == 1, !PauseQuestions.complete(&order) {
      Output.message("callgate: nothing was paused. Answer the questions, or give --action or --yes.")
      throw ExitStatus.usage.exit
    }
    for line in try admin.ask(for: .stop(order)).lines { Output.line(line) }
  }
}

/// `callgate resume`: ends a pause.
struct ResumeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Ends a pause at a running server.",
    discussion: """
      Ends the pauses with the same scope and id. Resuming all does not resume an app or caller that was paused by name.

      \(AdminOptions.discussion)

      Examples:
        callgate resume
        callgate resume --scope app --id shop

      \(AdminOptions.exits)
      """)

  @OptionGroup var admin: AdminOptions
  @OptionGroup var target: StopTarget

  func run() throws {
    for line in try admin.ask(for: .resume(target.order)).lines { Output.line(line) }
  }
}

/// `callgate reload`: makes the server load its configuration again.
struct ReloadCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reload",
    abstract: "Makes a running server reload its configuration.",
    discussion: """
      The server reads its own file and environment, as after SIGHUP. If the new configuration has a problem, the command \
      prints every problem and the old configuration stays in use.

      \(AdminOptions.discussion)

      Examples:
        callgate reload
        callgate reload --url http://127.0.0.1:9091

      \(AdminOptions.exits)
      """)

  @OptionGroup var admin: AdminOptions

  func run() throws {
    for line in try admin.ask(for: .reload).lines { Output.line(line) }
  }
}
