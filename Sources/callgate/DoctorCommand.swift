// The command `callgate doctor`, which tests the configuration and the services that a server needs, and
// suggests fixes.

import ArgumentParser
import Configuration
import Diagnosis
import Documents
import Gateway
import Glibc
import Platform
import Texts

/// `callgate doctor`: checks the configuration, Talkdesk ID and everything else that the server needs; or,
/// with `--token`, a user's token.
struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Checks everything that the server needs, over the network.",
    discussion: """
      Does everything check does, then requests a token from Talkdesk ID with each configured key: key and key id, algorithm, \
      region, proxy, DNS, connection, TLS, clock, credential, scopes, lifetime. Then it checks the store (reachable, \
      writable, schema version), the key set of each issuer, and each remote policy. It prints one line per check, and a \
      fix below each failed check. It never shows the token, changes nothing in the store, and does not check the port.

      With --token it shows instead how the server would respond to a user's token: issuer, key, algorithm, signature, audience, \
      times, subject, and the claims that rules need. It then only fetches key sets.

      Examples:
        callgate doctor
        callgate doctor callgate.yaml --json
        callgate doctor callgate.yaml --token token.txt --app shop

      Exit status: 0 if nothing failed (warnings allowed), 69 if Talkdesk ID, the store, an issuer or a policy cannot be \
      reached, 70 for a fault of this program, 77 if Talkdesk ID refuses, or the server the token, 78 if the configuration or \
      the store is wrong.
      """)

  @OptionGroup var source: ConfigurationArgument

  @Flag(help: "Print one JSON object.")
  var json = false

  @Option(
    help: ArgumentHelp("A file with a user's token to check, or - for standard input.", valueName: "file"),
    completion: .file())
  var token: String?

  @Option(help: ArgumentHelp("The app that the request with the token names.", valueName: "id"))
  var app: String?

  func validate() throws {
    guard app == nil || token != nil else { throw ValidationError("--app is only for --token.") }
  }

  func run() throws {
    ProcessSetup.ignoreBrokenPipes()
    let report: DoctorReport
    do {
      let loaded = try ConfigurationLoader.load(source.sources(), for: .check)
      report = try examine(loaded)
    } catch let error as ConfigurationErrors {
      guard !error.isMisuse else {
        for problem in error.problems { Output.message(problem.description) }
        throw ExitStatus.usage.exit
      }
      report = Doctor.report(of: error)
    }
    if json { Output.line(report.json) } else { show(report) }
    switch report.verdict {
    case .well: return
    case .configuration: throw ExitStatus.configuration.exit
    case .refused: throw ExitStatus.refused.exit
    case .unreachable: throw ExitStatus.unavailable.exit
    case .internal: throw ExitStatus.internal.exit
    }
  }

  private func examine(_ loaded: LoadedConfiguration) throws -> DoctorReport {
    guard let token else { return Blocker.run { await Doctor.examine(loaded) } }
    let octets = try octets(of: token)
    return Blocker.run { [app] in await Doctor.examine(loaded, token: octets, app: app) }
  }

  /// The maximum size of a token in bytes: more than any header may have.
  private static let longestToken = 1 << 21

  private func octets(of path: String) throws -> [UInt8] {
    do {
      guard path != "-" else {
        var octets = try SystemFile.bytes(of: STDIN_FILENO, limit: Self.longestToken)
        octets.dropByteOrderMark()
        return octets
      }
      return try ConfigurationFiles.system.read(path, Self.longestToken).bytes
    } catch {
      Output.message("--token: \(quoted(path: path)) cannot be read: \(error)")
      throw ExitStatus.usage.exit
    }
  }

  private func show(_ report: DoctorReport) {
    let style = Style(STDOUT_FILENO)
    let width = (report.findings.map(\.check.count).max() ?? 0) + 2
    for finding in report.findings {
      let check = finding.check + String(repeating: " ", count: width - finding.check.count)
      // Wrapped before it is colored, because escapes have no width.
      let found = Style.wrapped(String(repeating: " ", count: 6) + check + finding.found, indent: 6 + width)
      Output.line(
        style.column(Self.word(finding.status), width: 6, Self.tone(finding.status)) + found.dropFirst(6))
      if let fix = finding.fix {
        let name = "      fix:"
        let text = Style.wrapped(
          name + String(repeating: " ", count: width - 4) + fix, indent: 6 + width)
        Output.line(style.text(name, .strong) + text.dropFirst(name.count))
      }
    }
    Output.line(
      "\(report.count(.ok)) ok, \(report.count(.warn)) \(report.count(.warn) == 1 ? "warning" : "warnings"), \(report.count(.fail)) failed"
        + (report.count(.skip) > 0 ? ", \(report.count(.skip)) skipped" : ""))
  }

  private static func word(_ status: DoctorReport.Finding.Status) -> String {
    status == .fail ? "FAIL" : status.rawValue
  }

  private static func tone(_ status: DoctorReport.Finding.Status) -> Style.Tone {
    switch status {
    case .ok: .good
    case .warn: .doubtful
    case .fail: .bad
    case .skip: .quiet
    }
  }
}
