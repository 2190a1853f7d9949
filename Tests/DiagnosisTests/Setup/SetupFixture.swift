// Helpers for the tests of `callgate init`: a person who types answers, and answers from flags.

import Foundation
import JOSE
import Synchronization

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// Somebody who types lines, in their order, and reads what is shown.
final class TypingPerson: SetupDialog {
  private struct State {
    var lines: [String]
    /// The prompts, each with whether its answer was hidden.
    var prompts: [String] = []
    var hidden: [String] = []
    var said: [String] = []
    /// Whether what is typed is shown, and how often that changed.
    var echoes = true
    var changes = 0
  }

  private let state: Mutex<State>

  /// - Parameter lines: What is typed; then the input ends.
  init(_ lines: [String]) { state = Mutex(State(lines: lines)) }

  func ask(_ prompt: String) -> String? {
    state.withLock { state in
      state.prompts.append(prompt)
      if !state.echoes { state.hidden.append(prompt) }
      return state.lines.isEmpty ? nil : state.lines.removeFirst()
    }
  }

  func hiding<Answer>(_ body: () throws(SetupFailure) -> Answer) throws(SetupFailure) -> Answer {
    show(false)
    defer { show(true) }
    return try body()
  }

  private func show(_ echoes: Bool) {
    state.withLock { state in
      state.echoes = echoes
      state.changes += 1
    }
  }

  func say(_ text: String) { state.withLock { $0.said.append(text) } }

  var prompts: [String] { state.withLock { $0.prompts } }
  var hidden: [String] { state.withLock { $0.hidden } }
  var said: [String] { state.withLock { $0.said } }
  var echoes: Bool { state.withLock { $0.echoes } }
  /// How often hiding began or ended.
  var changes: Int { state.withLock { $0.changes } }
  /// What is left untyped.
  var rest: [String] { state.withLock { $0.lines } }
}

/// Answers, and what came of them.
enum SetupFixture {
  static let rsaKey: String = pem(for: .PS256)
  static let edwardsKey: String = pem(for: .EdDSA)

  static let files: [String: ConfigurationFiles.Content] = [
    "secret.txt": Fixture.content("canary-client-secret\n"), "empty.txt": Fixture.content("\n"),
    "open.txt": Fixture.content("canary-client-secret\n", mode: 0o644),
    "broken.txt": Fixture.content("canary\nclient\nsecret\n"),
    "crlf.txt": Fixture.content("canary-client-secret\r\n"),
    "cut.pem": Fixture.content(String(rsaKey.prefix(60))),
    "cut.b64": Fixture.content(String(Fixture.key.dropLast(9))),
    "large.txt": Fixture.content(String(repeating: "x", count: 65_537)),
    "ec.pem": Fixture.content(Fixture.key), "p384.pem": Fixture.content(Fixture.otherKey),
    "rsa.pem": Fixture.content(rsaKey), "ed25519.pem": Fixture.content(edwardsKey),
    "/home/ann/ec.pem": Fixture.content(Fixture.key),
    "password.txt": Fixture.content("canary-app-password\n"),
    "short.txt": Fixture.content("short\n"),
  ]

  /// The flags that are needed without a terminal, with a secret.
  static var flags: SetupFlags {
    var flags = SetupFlags()
    flags.account = "acme"
    flags.clientID = "client-1"
    flags.clientSecretFile = "secret.txt"
    return flags
  }

  static func interview(_ flags: SetupFlags) -> SetupInterview {
    SetupInterview(flags, files: Fixture.reader(files), home: "/home/ann")
  }

  /// The answers of flags alone.
  static func answers(_ change: (inout SetupFlags) -> Void = { _ in }) throws(SetupFailure) -> SetupAnswers {
    var flags = flags
    change(&flags)
    var interview = interview(flags)
    return try interview.answers(asking: nil)
  }

  /// What is wrong with flags.
  static func mistakes(_ change: (inout SetupFlags) -> Void) -> [String] {
    do throws(SetupFailure) {
      _ = try answers(change)
      return []
    } catch .mistakes(let lines) {
      return lines
    } catch {
      return ["\(error)"]
    }
  }

  private static func pem(for algorithm: SignatureAlgorithm) -> String {
    do {
      return String(decoding: try PrivateKey.generate(for: algorithm).pem().exposedBytes(), as: UTF8.self)
    } catch {
      preconditionFailure("\(error)")
    }
  }
}
