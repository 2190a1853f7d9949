// The command `callgate version`, which prints the version and the commit of this program.

import ArgumentParser

/// `callgate version`: prints the version and the commit and, with `--json`, also the versions of the
/// libraries.
struct VersionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version",
    abstract: "Prints the version and the commit it was built from.",
    discussion: """
      Prints what callgate --version prints. With --json it prints an object with the members version, revision, \
      committed_at, swift, openssl, curl, sqlite and libpq. The libraries' versions are those on this machine. A build that \
      no script stamped has the revision unknown.

      Exit status: 0.
      """)

  @Flag(help: "Print a JSON object, with the versions of the libraries.")
  var json = false

  func run() {
    Output.line(json ? BuildInformation.document : BuildInformation.line)
  }
}
