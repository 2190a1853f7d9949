// Helpers for the tests of `callgate init`: a person who types answers, and answers from flags.

import Foundation
import JOSE
import Synchronization

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// A person who types the given lines and reads the output.
final class TypingPerson: SetupDialog {
  private struct State {
    var lines: [String]
    /// The prompts, each with whether its answer was hidden.
    var prompts: [String] = []
    var hidden: [String] = []
    var said: [String] = []
    /// Whether typed text is shown, and how often that changed.
    var echoes = true
    var changes = 0
  }

  private let state: Mutex<State>

  /// - Parameter lines: the lines typed; after them the input ends.
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
  /// How often hidden input started or ended.
  var changes: Int { state.withLock { $0.changes } }
  /// The lines not typed yet.
  var rest: [String] { state.withLock { $0.lines } }
}

/// Files and flags for `callgate init`, and the answers or mistakes that result from them.
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

  /// The flags required without a terminal, with a client secret.
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

  /// The answers that result from flags alone.
  static func answers(_ change: (inout SetupFlags) -> Void = { _ in }) throws(SetupFailure) -> SetupAnswers {
    var flags = flags
    change(&flags)
    var interview = interview(flags)
    return try interview.answers(asking: nil)
  }

  /// The mistakes found in flags.
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
