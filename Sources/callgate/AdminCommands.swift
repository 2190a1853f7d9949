// The commands `status`, `stop`, `resume` and `reload`, which operate a running server.

import ArgumentParser
import Diagnosis
import Gateway

/// `callgate status`: how a running server is doing.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Shows the state of a running server.",
    discussion: """
      Shows what is stopped, the configuration and its last reload, rules, tokens and keys.

      \(AdminOptions.discussion)

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

/// The scope and action of `stop` and `resume`: by default all callers and all actions.
struct StopTarget: ParsableArguments {
  @Option(
    help: ArgumentHelp("The scope: all, app or caller.", valueName: "scope"),
    completion: .list(StopOrder.scopes))
  var scope = "all"

  @Option(help: ArgumentHelp("The id of the app or caller, with --scope app or caller.", valueName: "id"))
  var id: String?

  @Option(
    help: ArgumentHelp(
      "The action: \(StopOrder.actions.joined(separator: ", ")). Also tokens (access) and callbacks (callback).",
      valueName: "action"),
    completion: .list(StopOrder.actions))
  var action = "all"

  func validate() throws {
    guard StopOrder.scopes.contains(scope) else {
      throw ValidationError("--scope \(scope): write all, app or caller")
    }
    guard StopOrder.actions.contains(StopOrder.action(named: action)) else {
      throw ValidationError(
        "--action \(action): write one of \((StopOrder.actions + ["tokens", "callbacks"]).joined(separator: ", "))"
      )
    }
    if scope == "all", id != nil {
      throw ValidationError("--id names one app or caller: add --scope app or --scope caller")
    }
    if scope != "all", id?.isEmpty != false {
      throw ValidationError("--scope \(scope): say which \(scope) with --id")
    }
  }
}

/// `callgate stop`: the kill switch.
struct StopCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop",
    abstract: "Stops tokens, callbacks or both at a running server.",
    discussion: """
      Without options the command stops everything, for everyone, until resume. The server refuses the next request with 403 \
      stopped. Other instances with the same store follow within 2 seconds. status and the log show the reason; callers never \
      see it.

      \(AdminOptions.discussion)

      Examples:
        callgate stop
        callgate stop --action callback --reason "agents have no phones" --for 30m
        callgate stop --scope app --id shop --action access

      \(AdminOptions.exits)
      """)

  @OptionGroup var admin: AdminOptions
  @OptionGroup var target: StopTarget

  @Option(help: ArgumentHelp("The reason, for operators; at most 200 characters.", valueName: "text"))
  var reason: String?

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("The duration: 90s, 30m, 2h or 1d. Without it: until resume.", valueName: "time"))
  var duration: String?

  private var order: StopOrder {
    StopOrder(
      scope: target.scope, id: target.id, action: StopOrder.action(named: target.action), reason: reason,
      duration: duration)
  }

  func validate() throws {
    if let mistake = order.mistake { throw ValidationError(mistake) }
  }

  func run() throws {
    for line in try admin.ask(for: .stop(order)).lines { Output.line(line) }
  }
}

/// `callgate resume`: the way back.
struct ResumeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Ends a stop at a running server.",
    discussion: """
      Ends the stops of the same scope and id. Resuming all does not resume an app or caller that was stopped by name.

      \(AdminOptions.discussion)

      Examples:
        callgate resume
        callgate resume --scope app --id shop

      \(AdminOptions.exits)
      """)

  @OptionGroup var admin: AdminOptions
  @OptionGroup var target: StopTarget

  func run() throws {
    let order = StopOrder(
      scope: target.scope, id: target.id, action: StopOrder.action(named: target.action))
    for line in try admin.ask(for: .resume(order)).lines { Output.line(line) }
  }
}

/// `callgate reload`: the configuration again.
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
