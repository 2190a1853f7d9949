// Tests that each configuration in mistakes.txt gets the messages written there.

import Foundation
import Gate
import JOSE
import JSON
import TestSupport
import Testing

@testable import Configuration
@testable import RoomSupport

/// A configuration with a mistake, and the messages about it: a case of
/// Tests/Fixtures/configurations/mistakes.txt.
struct WrittenMistake: Sendable, CustomTestStringConvertible {
  let title: String
  var yaml = ""
  /// The problems, each as it is printed.
  var problems: [String] = []

  var testDescription: String { title }

  /// Every case of the file.
  static let all: [WrittenMistake] = {
    let path = Checkout.root.appending(path: "Tests").appending(path: "Fixtures/configurations/mistakes.txt")
    guard let text = try? String(contentsOf: path, encoding: .utf8) else {
      preconditionFailure("\(path.path) is a part of the checkout")
    }
    var cases: [WrittenMistake] = []
    // Text between a case's problems and the next title is a remark.
    var isOpen = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("== ") {
        cases.append(WrittenMistake(title: String(line.dropFirst(3))))
        isOpen = true
      } else if line.hasPrefix(">> ") {
        cases[cases.count - 1].problems.append("\(Fixture.file):\(line.dropFirst(3))")
        isOpen = false
      } else if isOpen {
        cases[cases.count - 1].yaml += line + "\n"
      }
    }
    return cases
  }()
}

@Suite struct WrittenMistakeTests {
  private static let files: [String: ConfigurationFiles.Content] = {
    guard let key = try? PrivateKey.generate(for: .ES256) else { preconditionFailure("no key can be made") }
    let set: JSONValue = ["keys": [.object(key.publicKey.jwk())]]
    return [
      "password.txt": Fixture.content("correct horse battery\n"), "empty.txt": Fixture.content("\n"),
      "short.txt": Fixture.content("short"), "words.txt": Fixture.content("two words\n"),
      "store-key.txt": Fixture.content(String(repeating: "01", count: 32)),
      "key.pem": Fixture.content(Fixture.key),
      "set.json": Fixture.content(String(decoding: set.serialized(), as: UTF8.self)),
      "noset.json": Fixture.content("{\"keys\":[]}"),
      "firebase.json": Fixture.content(Fixture.serviceAccount),
      "hook.txt": Fixture.content("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjU\n"),
      "large.txt": Fixture.content(String(repeating: "x", count: 300_000)),
    ]
  }()

  @Test(arguments: WrittenMistake.all)
  func `every mistake that is written down is answered with its lines, and no others`(
    _ mistake: WrittenMistake
  ) {
    #expect(!mistake.problems.isEmpty)
    let environment = Fixture.changed(["DEFAULT_USERNAME": "app"])
    for purpose in [ConfigurationPurpose.check, .serve] {
      let problems = Fixture.problems(
        mistake.yaml, environment: environment, files: Self.files, for: purpose)
      #expect(problems == mistake.problems)
    }
  }

  @Test func `every problem says where it stands and what to do`() {
    #expect(WrittenMistake.all.count > 200)
    for problem in WrittenMistake.all.flatMap(\.problems) {
      #expect(problem.wholeMatch(of: /config\.yaml:[1-9][0-9]*:[1-9][0-9]*: .+ — .+/) != nil, "\(problem)")
    }
    let titles = WrittenMistake.all.map(\.title)
    #expect(Set(titles).count == titles.count)
  }
}
