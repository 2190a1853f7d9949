// The command `callgate explain`, which shows how the rules would decide a request.

import API
import ArgumentParser
import Configuration
import Deciding
import Diagnosis
import Gateway
import Glibc
import HTTP
import Platform
import Upstream

/// `callgate explain`: shows the decision on a hypothetical request.
struct ExplainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Shows what the rules decide about a request, and why.",
    discussion: """
      Evaluates the rules as the server does, but without a server, a store or Talkdesk's credential. It assumes that nothing \
      is stopped and that only the requests in --count were made. It sends queries to remote policies.

      Prints a line for each rule (its name, its verdict, the reason), a sentence, and the decision as the last line.

      Examples:
        callgate explain callgate.yaml --action access --caller ios-app
        callgate explain --action callback --caller ios-app \\
          --phone +14155550100 --at 2026-12-25T10:00:00-05:00
        callgate explain --action access --caller app-users --subject ann \\
          --claims '{"tier":"gold"}' --count daily=4
        callgate explain --action enrol --app shop --address 203.0.113.7 \\
          --claims '{"client_app":"Shop for iOS"}'

      Exit status: 0 if the request is allowed, 77 if not, 64 if there is no such caller, 78 if the configuration is wrong.
      """)

  @OptionGroup var source: ConfigurationArgument

  @Option(
    help: ArgumentHelp(
      "The action: \(Question.actions.joined(separator: ", ")).", valueName: "action"),
    completion: .list(Question.actions))
  var action: String

  @Option(
    help: ArgumentHelp(
      "The caller's id, anonymous, or installation. Without it: only the rules.", valueName: "id"))
  var caller: String?

  @Option(
    help: ArgumentHelp(
      "The subject of the caller's token, or of the installation's user.", valueName: "subject"))
  var subject: String?

  @Option(help: ArgumentHelp("The installation's client id.", valueName: "uuid"))
  var installation: String?

  @Option(
    help: ArgumentHelp(
      "The caller of the installation's user. Without it: the only one with users.", valueName: "id"))
  var owner: String?

  @Option(help: ArgumentHelp("The app that the request names.", valueName: "id"))
  var app: String?

  @Option(help: ArgumentHelp("The client's address.", valueName: "address"))
  var address: String?

  @Option(help: ArgumentHelp("The number to call.", valueName: "number"))
  var phone: String?

  @Option(help: ArgumentHelp("The claims of the caller's token, as a JSON object.", valueName: "json"))
  var claims: String?

  @Option(
    name: .customLong("field"),
    help: ArgumentHelp("A header of the request; repeat the option for more.", valueName: "name=value"))
  var fields: [String] = []

  @Option(help: ArgumentHelp("true if the caller has proven that the number is its own.", valueName: "bool"))
  var proven: String?

  @Option(help: ArgumentHelp("The text that the customer has just agreed to.", valueName: "name"))
  var consent: String?

  @Option(help: ArgumentHelp("The time, with an offset. Without it: now.", valueName: "RFC 3339"))
  var at: String?

  @Option(
    name: .customLong("count"),
    help: ArgumentHelp("How many requests each rule has already counted.", valueName: "rule=number"))
  var counts: [String] = []

  @Flag(help: "Print the JSON of /admin/explain.")
  var json = false

  func validate() throws { _ = try question() }

  func run() throws {
    let question = try question()
    let configuration = try source.load(for: .explain)
    let asksRemotes = configuration.asksRemotePolicies
    let authorities = configuration.authorities
    let result: Result<Explanation, Question.Mistakes> = try Blocker.run {
      do {
        let transport = asksRemotes ? try CurlTransport(TransportSettings(authorities: authorities)) : nil
        let rules = OfflineRules(configuration, transport: transport)
        let answer: Result<Explanation, Question.Mistakes>
        do throws(Question.Mistakes) {
          answer = .success(try await rules.explain(question))
        } catch {
          answer = .failure(error)
        }
        await transport?.shutdown()
        return Result<_, any Error>.success(answer)
      } catch {
        return .failure(error)
      }
    }.get()
    switch result {
    case .success(let explanation): try show(explanation)
    case .failure(let mistakes):
      for mistake in mistakes.list {
        Output.message("--\(Self.option(mistake.member)): \(mistake.description)")
      }
      throw ExitStatus.usage.exit
    }
  }

  private func show(_ explanation: Explanation) throws {
    if json {
      Output.line(explanation.json)
    } else {
      for line in explanation.verdictLines {
        // The reason is in the last column.
        let reason = line.split(separator: "  ").last?.drop { $0 == " " }
        Output.line(Style.wrapped(line, indent: line.count - (reason?.count ?? 0)))
      }
      Output.line(Style.wrapped(explanation.summary, indent: 0))
      Output.line(Style(STDOUT_FILENO).text(explanation.decisionLine, explanation.isAllowed ? .good : .bad))
    }
    guard explanation.isAllowed else { throw ExitStatus.refused.exit }
  }

  private func question() throws -> Question {
    var question = Question()
    question.action = action
    for fact in AskedFact.allCases { question[fact] = option(fact) }
    question.fields = try fields.map { text in
      let (name, value) = try Self.split(text, option: "field", form: "NAME=VALUE")
      return (name, value)
    }
    question.counts = try counts.map { text in
      let (rule, number) = try Self.split(text, option: "count", form: "RULE=N")
      // `Int64` alone would accept a sign.
      guard number.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(number) else {
        throw ValidationError("--count \(text): write it as RULE=N, N in digits")
      }
      return (rule, count)
    }
    if let claims {
      do {
        try question.setClaims(json: claims)
      } catch {
        throw ValidationError("--claims: \(error.description)")
      }
    }
    return question
  }

  private func option(_ fact: AskedFact) -> String? {
    switch fact {
    case .caller: caller
    case .subject: subject
    case .owner: owner
    case .installation: installation
    case .app: app
    case .address: address
    case .phone: phone
    case .at: at
    case .proven: proven
    case .consent: consent
    }
  }

  private static func split(_ text: String, option: String, form: String) throws -> (String, String) {
    guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
      throw ValidationError("--\(option) \(text): write it as \(form)")
    }
    return (String(text[..<sign]), String(text[text.index(after: sign)...]))
  }

  /// The option that sets a member of the question.
  private static func option(_ member: String) -> String {
    member.hasPrefix("counts.") ? "count \(member.dropFirst("counts.".count))" : member
  }
}
