// The command `callgate test-call`, which requests one real callback and records how the account responds.

import ArgumentParser
import Configuration
import Diagnosis
import Documents
import Gateway
import Glibc
import Platform
import Records

/// `callgate test-call`: makes one real callback.
struct TestCallCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test-call",
    abstract: "Makes one real callback and shows Talkdesk's response.",
    discussion: """
      Shows the number that will ring and asks for confirmation. Then it fetches a token and requests one callback with the \
      configured credential. It never sends a second request. It prints the response, the token's lifetime and its scopes, with \
      numbers masked. It refuses the number ranges that Callgate refuses by default. Your rules, safety limits and pauses do not \
      apply.

      With --facts the command saves the response in a file. callgate sandbox --facts then responds like your account.

      With --watch the command also shows which triggers the call fires. It registers outcomes.triggers with its own webhook, \
      listens on the configured port, prints every event for that time with numbers masked, and removes the triggers. Stop the \
      server on that port first. Ctrl-C ends the watch. The credential needs the scope webhooks-trigger:write.

      Examples:
        callgate test-call --phone +14155550123
        callgate test-call --phone +14155550123 --watch 10m --facts facts.json
        callgate test-call callgate.yaml --phone +14155550123 --facts facts.json
        callgate test-call --phone +14155550123 --yes

      Exit status: 0 if Talkdesk accepted the callback, 64 for wrong arguments, without a terminal and --yes, or if the facts \
      cannot be written, 69 if Talkdesk was not reached, the outcome is unknown or the port is taken, 77 if Talkdesk refused, the number is in a \
      refused range, or you said no, 78 if the configuration is wrong, has no Talkdesk number or, with --watch, no outcomes.external_url.
      """,
    aliases: ["drill"])

  @OptionGroup var source: ConfigurationArgument

  @Option(help: ArgumentHelp("The number to call, in E.164: your own phone.", valueName: "number"))
  var phone: String

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @Option(
    help: ArgumentHelp("A file for Talkdesk's response; replaces earlier facts.", valueName: "file"),
    completion: .file())
  var facts: String?

  @Option(
    help: ArgumentHelp(
      "Listen for Talkdesk's events of the call for this time: 10s to 1h.", valueName: "duration"))
  var watch: String?

  private var span: Duration? {
    watch.flatMap(DurationText.parse).flatMap { (.seconds(10) ... .seconds(3600)).contains($0) ? $0 : nil }
  }

  func validate() throws {
    if watch != nil, span == nil { throw ValidationError("--watch: give 10s to 1h, such as 10m") }
    if let fault = Drill.fault(inPhone: phone) { throw ValidationError("--phone: \(fault)") }
  }

  func run() throws {
    let signals = SignalWatch(endingOnHangUp: true)
    signals.onEnd { Self.stopUnsent() }
    ProcessSetup.ignoreBrokenPipes()
    try ProcessSetup.protectSecrets()
    guard yes || isatty(STDIN_FILENO) == 1 else {
      Output.message(
        "callgate: test-call makes a real call and asks for confirmation on a terminal. Without a terminal, add --yes."
      )
      throw ExitStatus.usage.exit
    }
    let configuration = try source.load(for: span == nil ? .token : .check)
    let drill = try prepare(configuration)
    let file = try factsFile()
    // The number is shown only here, where it was typed, so that a mistyped digit is visible. No log has it.
    let isSeen = !yes && isatty(STDERR_FILENO) == 1
    for line in drill.announcement(showingNumber: isSeen) { Output.message(line) }
    guard yes || Output.isConfirmed("Send the callback?") else {
      Output.message("No callback was sent.")
      throw ExitStatus.refused.exit
    }
    if let span { return try run(drill, configuration, watchingFor: span, signals, file) }
    let report = Blocker.run {
      await drill.run {
        // Save Talkdesk's response even if the terminal closes meanwhile.
        signals.ignoreHangUp()
        guard signals.finishesWork() else { Self.stopUnsent() }
        signals.onEnd {
          Output.message("")
          Output.message(
            "callgate: interrupted before Talkdesk responded: the phone may ring. Do not repeat the test call right away"
          )
          _exit(ExitStatus.unavailable.rawValue)
        }
      }
    }
    _ = signals.finishesWork()
    // Before anything is printed: the response cannot be requested again, so a closed pipe must not lose it.
    show(report, keep(report, file))
    try end(report)
  }

  /// Makes the callback. Unless Talkdesk refuses it, shows the events of its call until the time has passed
  /// or a signal ends the watch. Then removes the triggers in every case.
  private func run(
    _ drill: Drill, _ configuration: Configuration, watchingFor span: Duration, _ signals: SignalWatch,
    _ file: FactsFile?
  ) throws {
    let stop = TimedSignal()
    // From here on a signal ends the watch, not the process: the triggers have to be removed.
    signals.onEnd { stop.signal() }
    signals.ignoreHangUp()
    let begun: Result<DrillWatch, DrillWatch.Obstacle> = Blocker.run {
      do throws(DrillWatch.Obstacle) {
        return .success(try await DrillWatch.begin(configuration) { Output.line($0) })
      } catch {
        return .failure(error)
      }
    }
    let watch: DrillWatch
    do throws(DrillWatch.Obstacle) { watch = try begun.get() } catch {
      let (words, status): (String, ExitStatus) =
        switch error {
        case .notConfigured(let detail): (detail, .configuration)
        case .refused(let detail): (detail, .refused)
        case .unavailable(let detail): (detail, .unavailable)
        }
      Output.message("callgate: \(words). No callback was sent")
      throw status.exit
    }
    guard !stop.wait(for: .zero) else {
      Blocker.run { await watch.end { Output.line($0) } }
      Self.stopUnsent()
    }
    let report = Blocker.run { await drill.run {} }
    show(report, .unasked)
    if report.verdict != .refused {
      Output.message("Waiting for events. Ctrl-C ends the watch.")
      _ = stop.wait(for: span)
    }
    Blocker.run { await watch.end { Output.line($0) } }
    if let file {
      var keeping = Keeping.nothing
      if let bytes = report.facts(withEvents: watch.events) {
        do throws(FactsFile.Failure) {
          try file.write(bytes)
          keeping = .kept
        } catch {
          keeping = .lost(bytes, error)
        }
      }
      for line in lines(keeping) { Output.line(line) }
    }
    try end(report)
  }

  private static func stopUnsent() -> Never {
    Output.message("")
    Output.message("callgate: interrupted; no callback was sent")
    _exit(130)
  }

  private func prepare(_ configuration: Configuration) throws -> Drill {
    do throws(Drill.Obstacle) {
      return try Drill(configuration, phone: phone)
    } catch {
      Output.message("callgate: \(error)")
      switch error {
      case .noTalkdeskNumber: throw ExitStatus.configuration.exit
      case .refusedNumber: throw ExitStatus.refused.exit
      }
    }
  }

  private func factsFile() throws -> FactsFile? {
    do throws(FactsFile.Failure) {
      return try facts.map { path throws(FactsFile.Failure) in try FactsFile(path) }
    } catch {
      Output.message("callgate: --facts: \(error). No callback was sent")
      throw ExitStatus.usage.exit
    }
  }

  /// The result of saving the facts.
  private enum Keeping {
    case unasked
    /// There was no response to save.
    case nothing
    case kept
    case lost([UInt8], FactsFile.Failure)
  }

  private func keep(_ report: DrillReport, _ file: FactsFile?) -> Keeping {
    guard let file else { return .unasked }
    guard let bytes = report.facts else { return .nothing }
    do throws(FactsFile.Failure) {
      try file.write(bytes)
      return .kept
    } catch {
      return .lost(bytes, error)
    }
  }

  private func show(_ report: DrillReport, _ keeping: Keeping) {
    let style = Style(STDOUT_FILENO)
    var lines = report.lines.map { style.column($0.name, width: 10, .quiet) + $0.text }
    let closing = report.verdict == .accepted ? report.closing : []
    lines += (closing + self.lines(keeping)).map { ShownText($0) }
    // A script that retries after a failure would ring again: nothing from here on changes the exit status.
    let text = Array(lines.map { $0.text + "\n" }.joined().utf8)
    if let error = Output.standard.write(text).error {
      Output.message("callgate: cannot write to standard output: \(error)")
    }
    if report.verdict != .accepted { Output.message("callgate: \(report.closing.joined(separator: " "))") }
  }

  private func lines(_ keeping: Keeping) -> [String] {
    switch keeping {
    case .unasked: return []
    case .nothing:
      Output.message("callgate: --facts: no response to save; the file is unchanged")
      return []
    case .kept: return ["The facts are in \(facts ?? "")."]
    case .lost(let bytes, let failure):
      Output.message("callgate: --facts: \(failure). The facts are on standard output instead")
      return [String(decoding: bytes.dropLast(), as: UTF8.self)]
    }
  }

  private func end(_ report: DrillReport) throws {
    switch report.verdict {
    case .accepted: return
    case .refused: throw ExitStatus.refused.exit
    case .unavailable: throw ExitStatus.unavailable.exit
    case .internal: throw ExitStatus.internal.exit
    }
  }
}
