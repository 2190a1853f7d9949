// The command `callgate init`, which asks a few questions and writes a first configuration.

import ArgumentParser
import Configuration
import Diagnosis
import Gateway
import Glibc
import Platform
import Records

/// `callgate init`: asks a few questions and writes a first configuration.
struct InitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Asks a few questions and writes a first configuration.",
    discussion: """
      Asks for your Talkdesk account, its OAuth client (id and secret, or id and private key), what the app's tokens \
      are for, the number of callbacks and opening hours, and checks each answer. It does not use the network. It \
      writes all of these files or none:
        callgate.yaml          the configuration
        tests.yaml             tests of its rules, which pass
        *.schema.json          a JSON Schema of each, for editors
        secrets/               the secrets, as files of mode 0600
        .gitignore             lines for secrets and state
      It generates a password for your app (unless you give --password-file), the admin token and the store key. \
      The server of this configuration listens on this machine only, and has the operator's page on port 9091. Then \
      init prints the next steps.

      --tokens decides the scope of tokens: callback for the Callback API (callback:write), sdk for Talkdesk's Mobile \
      SDK (visual-sessions:execute), both for an app of each, which GET /access?app=callbacks and ?app=sdk name.

      A flag answers its question. Without a terminal, --account, --client-id and a credential are needed, and \
      --timezone with --hours.

      Examples:
        callgate init
        callgate init --dir shop --account acme --client-id 6f3c5a0e8b1d4c7e
        callgate init --account acme --client-id 6f3c5a0e8b1d4c7e \\
          --client-secret-file secret.txt --hours "mon-fri 09:00-18:00" \\
          --timezone America/New_York

      Exit status: 0 if everything is written, 64 for a wrong or missing answer or files that exist already, 70 for a \
      fault of this program or the disk, 77 if you may not write to the folder. With any other status than 0, init \
      writes no file.
      """)

  @Option(
    help: ArgumentHelp("The folder to write into; created if it is missing.", valueName: "folder"),
    completion: .directory)
  var dir = "."

  @Flag(help: "Overwrite existing files. The app keeps its password, and the store its key.")
  var force = false

  @Option(
    help: ArgumentHelp("What tokens are for: callback (default), sdk or both.", valueName: "use"),
    completion: .list(["callback", "sdk", "both"]))
  var tokens: String?

  @Option(
    help: ArgumentHelp("The IP address of the public port, 127.0.0.1 by default.", valueName: "address"))
  var listen: String?

  @Flag(help: "No operator's page and no admin token.")
  var noAdmin = false

  @Option(help: ArgumentHelp("The Talkdesk account: acme in acme.talkdeskid.com.", valueName: "name"))
  var account: String?

  @Option(
    help: ArgumentHelp("The account's region: us (default), eu, ca or au.", valueName: "region"),
    completion: .list(["us", "eu", "ca", "au"]))
  var region: String?

  @Option(name: .customLong("client-id"), help: ArgumentHelp("The id of the OAuth client.", valueName: "id"))
  var clientID: String?

  @Option(
    help: ArgumentHelp("A file with the client's secret.", valueName: "file"), completion: .file())
  var clientSecretFile: String?

  @Option(
    help: ArgumentHelp("A file with the private key of an AppConnect installation.", valueName: "file"),
    completion: .file())
  var privateKeyFile: String?

  @Option(name: .customLong("key-id"), help: ArgumentHelp("The id Talkdesk gave the key.", valueName: "id"))
  var keyID: String?

  @Option(
    help: ArgumentHelp(
      "The key's algorithm, if it differs from the key's usual one (RSA: PS256).", valueName: "algorithm"),
    completion: .list(NewKey.algorithms))
  var keyAlgorithm: String?

  @Option(help: ArgumentHelp("The account's number for callbacks.", valueName: "number"))
  var phoneNumber: String?

  @Option(
    help: ArgumentHelp(
      "The opening hours of callbacks: \"mon-fri 09:00-18:00\", or none.", valueName: "hours"))
  var hours: String?

  @Option(help: ArgumentHelp("The time zone of the hours: America/New_York.", valueName: "zone"))
  var timezone: String?

  @Option(
    help: ArgumentHelp("A file with the password of your app, instead of a new one.", valueName: "file"),
    completion: .file())
  var passwordFile: String?

  func run() throws {
    ProcessSetup.ignoreBrokenPipes()
    let terminal = TerminalInput()
    let signals = SignalWatch(endingOnHangUp: true)
    signals.onEnd {
      terminal.restore()
      Output.message("")
      Output.message("callgate: init was interrupted; nothing was written")
      _exit(130)
    }
    try ProcessSetup.protectSecrets()
    let setup = Setup(
      folder: dir, workingDirectory: ProcessEnvironment.workingDirectory(), replacing: force,
      hasAdmin: !noAdmin)
    let dialog = TerminalInput.isInteractive ? Dialog(terminal: terminal) : nil
    do {
      do throws(Setup.Failure) {
        try setup.checkFolder([clientSecretFile, privateKeyFile, passwordFile].compactMap(\.self))
      } catch {
        if dialog == nil { nameMissingAnswers() }
        throw error
      }
      var flags = self.flags
      if passwordFile == nil, let present = setup.presentPassword {
        flags.passwordFile = present
        Output.message("notice: the app keeps its password, \(present); to change it, delete that file first")
      }
      if let present = setup.presentStoreKey {
        flags.storeKeyFile = present
        Output.message("notice: the store keeps its key, \(present)")
      }
      var interview = SetupInterview(
        flags, files: .system, home: ProcessEnvironment.variables()["HOME"])
      dialog?.say(
        """
        This writes a configuration for Callgate into
          \(setup.folder)
        Press Return to accept the value in [brackets].
        Ctrl-C quits without writing anything.

        """)
      let answers = try interview.answers(asking: dialog)
      dialog?.say("")
      for notice in interview.notices { Output.message("notice: \(notice)") }
      // The rest takes milliseconds and writes all files or none, so a signal no longer interrupts it.
      guard signals.finishesWork() else { _exit(130) }
      for line in try setup.write(answers, readFrom: interview.sources) { Output.line(line) }
    } catch let failure as SetupFailure {
      throw Self.status(failure).exit
    } catch let failure as Setup.Failure {
      for line in failure.description.split(separator: "\n") { Output.message(line) }
      Output.message("callgate: nothing was written")
      throw Self.status(failure).exit
    }
  }

  /// Prints wrong and missing flags, so that they appear together with the folder's problem. Call this only
  /// without a terminal, where `init` asks no questions.
  private func nameMissingAnswers() {
    var interview = SetupInterview(flags, files: .system, home: ProcessEnvironment.variables()["HOME"])
    do throws(SetupFailure) {
      _ = try interview.answers(asking: nil)
    } catch {
      guard case .mistakes(let lines) = error else { return }
      for line in lines { Output.message(line) }
    }
  }

  private var flags: SetupFlags {
    var flags = SetupFlags()
    flags.account = account
    flags.region = region
    flags.clientID = clientID
    flags.clientSecretFile = clientSecretFile
    flags.privateKeyFile = privateKeyFile
    flags.keyID = keyID
    flags.keyAlgorithm = keyAlgorithm
    flags.phoneNumber = phoneNumber
    flags.hours = hours
    flags.timezone = timezone
    flags.passwordFile = passwordFile
    flags.tokens = tokens
    flags.listen = listen
    flags.hasAdmin = !noAdmin
    return flags
  }

  /// Prints why there are no answers. Returns the status to exit with.
  private static func status(_ failure: SetupFailure) -> ExitStatus {
    switch failure {
    case .mistakes(let lines):
      for line in lines { Output.message(line) }
      Output.message("callgate: nothing was written; callgate init --help explains the flags")
      return .usage
    case .ended:
      Output.message("")
      Output.message("callgate: the input ended before the last question; nothing was written")
      return .usage
    case .generation(let words):
      Output.message("callgate: a password or key could not be generated: \(words)")
      return .internal
    }
  }

  private static func status(_ failure: Setup.Failure) -> ExitStatus {
    switch failure {
    case .exists, .unusable, .unfit: .usage
    case .refused: .refused
    case .incomplete, .invalid: .internal
    }
  }

  /// The dialog with a person at the terminal.
  private struct Dialog: SetupDialog {
    let terminal: TerminalInput

    func ask(_ prompt: String) -> String? {
      terminal.line { show(prompt) }
    }

    func hiding<Answer>(_ body: () throws(SetupFailure) -> Answer) throws(SetupFailure) -> Answer {
      // The terminal also hides the line feed that ends a hidden line.
      defer { show("\n") }
      return try terminal.hiding(body)
    }

    func say(_ text: String) { show(text + "\n") }

    /// Writes to the stream that the person sees.
    private func show(_ text: String) {
      _ = (Output.isTerminal ? Output.standard : Output.errors).write(Array(text.utf8))
    }
  }
}
