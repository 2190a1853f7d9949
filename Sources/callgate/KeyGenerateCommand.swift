// The command `callgate key generate`, which makes a new key for the OAuth client or for the store.

import ArgumentParser
import Diagnosis
import Gateway
import JOSE
import Sealing

/// `callgate key generate`: makes a new key for the OAuth client or for the store.
struct KeyGenerateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Generates a private key or a store key.",
    discussion: """
      Prints the lines TD_KEY_ALGORITHM= and TD_PRIVATE_KEY=, then the public key as PEM. With --out the private key \
      goes into a new file of mode 0600 instead, and the line TD_PRIVATE_KEY_FILE= names it.

      You rarely need this. An account's own OAuth client uses a secret, and Talkdesk issues the keys of AppConnect \
      installations itself. This key is for the emulator (callgate sandbox --client-key), or for Talkdesk to register \
      if Talkdesk agreed to. Two notes on standard error say so.

      With --store it prints a store key instead: 32 random bytes as Base64, on one line. Put it into a file of mode 0600 or \
      into CALLGATE_STORE_KEY, and keep a copy apart from the store's backups.

      Examples:
        callgate key generate
        callgate key generate --algorithm PS256 --out talkdesk.pem
        (umask 077; callgate key generate --store > store-key)
      """)

  @Option(
    help: ArgumentHelp(
      "What the key is for: \(NewKey.algorithms.joined(separator: ", ")). Without it: ES256.",
      valueName: "algorithm"),
    completion: .list(NewKey.algorithms))
  var algorithm: String?

  @Option(help: ArgumentHelp("A file for the private key; it must not exist yet.", valueName: "file"))
  var out: String?

  @Flag(help: "Print a store key (store.key_file, CALLGATE_STORE_KEY).")
  var store = false

  func validate() throws {
    guard !store || (algorithm == nil && out == nil) else {
      throw ValidationError("--store prints a key of its own kind. Leave out --algorithm and --out.")
    }
    guard let algorithm else { return }
    guard NewKey.algorithms.contains(algorithm) else {
      throw ValidationError("\(NewKey.Failure.unknownAlgorithm(algorithm))")
    }
  }

  func run() throws {
    if store { return try printStoreKey() }
    do throws(NewKey.Failure) {
      let key = try NewKey(algorithm: algorithm ?? "ES256")
      let line = if let out { try key.write(to: out) } else { try key.variableLine() }
      Output.line(key.algorithmLine)
      Output.line(line)
      Output.text(key.publicKey)
      Output.message(
        "note: this key is for callgate sandbox --client-key, or for Talkdesk to register if Talkdesk agreed to"
      )
      Output.message(
        "note: Talkdesk issues the keys of AppConnect installations itself; an account's own OAuth client uses a secret"
      )
    } catch {
      Output.message("key generate: \(error)")
      throw exit(for: error).exit
    }
  }

  private func printStoreKey() throws {
    do throws(OpenSSLError) {
      Output.line(try StoreKey.generate().exposedText())
    } catch {
      Output.message("key generate: \(error)")
      throw ExitStatus.internal.exit
    }
  }

  private func exit(for failure: NewKey.Failure) -> ExitStatus {
    switch failure {
    case .unknownAlgorithm, .exists, .unusablePath: .usage
    case .refused: .refused
    case .generation, .incomplete: .internal
    }
  }
}
