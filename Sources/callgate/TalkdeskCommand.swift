// The commands `callgate talkdesk triggers …`, which register the server's webhook with Talkdesk, and
// `callgate talkdesk queries`, which lists the queries of Talkdesk's Live API.

import ArgumentParser
import Configuration
import Diagnosis
import Gateway
import Glibc
import Platform
import Synchronization

/// `callgate talkdesk`: commands for triggers and Live API queries in Talkdesk.
struct TalkdeskCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "talkdesk", abstract: "Manages triggers and lists Live API queries in Talkdesk.",
    subcommands: [TriggersCommand.self, QueriesCommand.self])
}

/// `callgate talkdesk queries`: lists the queries of Talkdesk's Live API, or shows where the result of one
/// query has numbers.
struct QueriesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queries", abstract: "Lists the queries of Talkdesk's Live API.",
    discussion: """
      Prints the name, id, parameters and filters of each query. With a name, it follows that query for up to 90 seconds and prints \
      where the first result has numbers: one of these paths is availability.live.path. It prints no values. The credential needs \
      the scopes live-subscriptions:write and live-subscriptions:read.

      Exit status: 0 if Talkdesk responds, 69 if not, 77 if it refuses or has no such query, 78 if the configuration is wrong.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Argument(help: "Query name or id. Prints where its first result has numbers.")
  var query: String?

  func run() throws {
    let configuration = try options.load(for: .check)
    try TriggersCommand.end(
      Blocker.run {
        do throws(TriggerWork.Failure) {
          return .success(try await QueryWork.run(query, configuration) { Output.line($0) })
        } catch {
          return .failure(error)
        }
      })
  }
}

/// `callgate talkdesk triggers`: commands for the triggers that send events of calls to the webhook.
struct TriggersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "triggers", abstract: "Registers the triggers that report call outcomes.",
    subcommands: [ListTriggersCommand.self, AddTriggersCommand.self, RemoveTriggersCommand.self])

  /// Runs a step, and ends the command with its exit status.
  fileprivate static func run(_ step: TriggerWork.Step, _ options: ConfigurationOptions) throws {
    let signals = step == .list ? nil : SignalWatch(endingOnHangUp: true)
    signals?.onEnd { _exit(130) }
    let configuration = try options.load(for: .check)
    ProcessSetup.ignoreBrokenPipes()
    let isEnding = Atomic(false)
    signals?.onEnd {
      isEnding.store(true, ordering: .relaxed)
      Output.message("callgate: stopping after the current request to Talkdesk")
    }
    try withExtendedLifetime(signals) {
      try end(
        Blocker.run {
          do throws(TriggerWork.Failure) {
            return .success(
              try await TriggerWork.run(step, configuration, isEnding: { isEnding.load(ordering: .relaxed) })
              {
                Output.line($0)
              })
          } catch {
            return .failure(error)
          }
        })
    }
  }

  /// Ends a command with the exit status for its result.
  fileprivate static func end(_ result: Result<Void, TriggerWork.Failure>) throws {
    guard case .failure(let failure) = result else { return }
    switch failure {
    case .notConfigured(let detail):
      Output.message("callgate: \(detail)")
      throw ExitStatus.configuration.exit
    case .refused(let detail):
      Output.message("callgate: \(detail)")
      throw ExitStatus.refused.exit
    case .unavailable(let detail):
      Output.message("callgate: \(detail)")
      throw ExitStatus.unavailable.exit
    case .interrupted:
      Output.message("callgate: stopped before the next trigger; run the command again for the others")
      throw ExitCode(130)
    }
  }

  fileprivate static let exits = """
    Exit status: 0 if it is done, 69 if Talkdesk or the store does not respond, 77 if Talkdesk refuses, 78 if the \
    configuration is wrong or has no outcomes.
    """
}

/// `callgate talkdesk triggers list`: lists the registered triggers.
struct ListTriggersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the registered triggers, by the ids in the store.",
    discussion: "Talkdesk documents no list of triggers, so this shows what add has registered.\n\n"
      + TriggersCommand.exits)

  @OptionGroup var options: ConfigurationOptions

  func run() throws { try TriggersCommand.run(.list, options) }
}

/// `callgate talkdesk triggers add`: registers the triggers.
struct AddTriggersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Registers each of outcomes.triggers with Talkdesk.",
    discussion: """
      A second run changes nothing. After a change of outcomes.external_url or the webhook's secret, it registers the triggers \
      again and removes the earlier ones. The credential needs the scope webhooks-trigger:write.


      """ + TriggersCommand.exits)

  @OptionGroup var options: ConfigurationOptions

  func run() throws { try TriggersCommand.run(.add, options) }
}

/// `callgate talkdesk triggers remove`: removes the registered triggers.
struct RemoveTriggersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Removes the registered triggers at Talkdesk.",
    discussion: "The credential needs the scope webhooks-trigger:write.\n\n" + TriggersCommand.exits)

  @OptionGroup var options: ConfigurationOptions

  func run() throws { try TriggersCommand.run(.remove, options) }
}
