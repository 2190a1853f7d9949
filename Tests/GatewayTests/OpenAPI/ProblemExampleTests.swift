// Tests that the examples of problems say what the server says.

import Foundation
import TestSupport
import Testing

@testable import API

@Suite struct ProblemExampleTests {
  /// The source code without the examples. Concatenated string literals are joined.
  private static let sources: String = {
    let folder = Checkout.root.appending(path: "Sources")
    let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return paths.filter { $0.hasSuffix(".swift") && !$0.hasSuffix("Problem+Example.swift") }
      .compactMap { try? String(contentsOf: folder.appending(path: $0), encoding: .utf8) }
      .joined(separator: "\n").replacing(/"\s*\+\s*"/, with: "")
  }()

  /// Codes whose text is assembled from other texts, or contains a value of the server.
  private static let composed: Set<Problem.Code> = [
    .invalidJSON, .invalidRequest, .notFound, .methodNotAllowed,
  ]

  @Test(arguments: Set(Problem.Code.allCases).subtracting(composed))
  func `an example has the words of the server`(_ code: Problem.Code) throws {
    // The server inserts a provider's name, a text's name and a time. One function writes when to try again.
    for sentence in code.exampleProblem.detail.split(separator: ". ") where !sentence.hasPrefix("Try again") {
      let pieces = sentence.split(separator: #/Talkdesk ID|v?[0-9][0-9TZ:-]*/#)
      let longest = try #require(pieces.max { $0.count < $1.count })
      let isSaid = Self.sources.contains(longest)
      #expect(isSaid, "\(longest)")
    }
  }
}
