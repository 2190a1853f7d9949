// The command `callgate key inspect`, which describes a key.

import ArgumentParser
import Configuration
import Diagnosis
import Gateway
import Glibc
import Platform

/// `callgate key inspect`: describes a key.
struct KeyInspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Shows a key's type and fingerprint, never its private half.",
    discussion: """
      Prints the key's form, type, curve or size, the algorithms that fit it, and the SHA-256 fingerprint of its public \
      half. Without a file it reads TD_PRIVATE_KEY (or TD_PRIVATE_KEY_FILE).

      Examples:
        callgate key inspect talkdesk.pem
        callgate key inspect - < talkdesk.pem

      Exit status: 0 if the key is usable, 78 if not.
      """)

  @Argument(help: "The file with the key, or - for standard input.")
  var file: String?

  func run() throws {
    let source: KeyReport.Source =
      switch file {
      case "-": .bytes(Self.standardInput())
      case let path?: .file(path)
      case nil: .environment
      }
    do throws(KeyReport.Failure) {
      let report = try KeyReport(
        source, environment: ProcessEnvironment.variables(), files: .system)
      for line in report.lines { Output.line(line) }
    } catch {
      Output.message(error.description)
      throw ExitStatus.configuration.exit
    }
  }

  /// Reads standard input, up to more bytes than any key has.
  private static func standardInput() -> [UInt8] {
    // If reading fails, the empty input is reported as an invalid key.
    (try? SystemFile.bytes(of: STDIN_FILENO, limit: 65_537)) ?? []
  }
}
