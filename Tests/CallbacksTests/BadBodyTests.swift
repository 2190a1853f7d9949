// Tests that every invalid callback body gets its documented status and code.

import Foundation
import HTTP
import JSON
import TestSupport
import Testing

@testable import API
@testable import RoomSupport

@Suite struct BadBodyTests {
  private static let statuses = ["invalid_json": 400, "content_too_large": 413, "invalid_request": 422]

  @Test func `there are at least two hundred of them, all different`() {
    #expect(BadBody.all.count >= 200)
    #expect(Set(BadBody.all.map(\.content)).count == BadBody.all.count)
  }

  /// The end-to-end tests send the same bodies to the release binary. They read them from a file, one per
  /// line: code, path (`-` for none), content in Base64, and name. Bodies too large for a file are left out.
  /// CALLGATE_WRITE_FIXTURES=1 writes the file.
  @Test func `they are written down for other programs, too`() throws {
    let lines = BadBody.all.filter { $0.content.count <= 65_536 }.map { bad in
      [bad.code, bad.path ?? "-", Data(bad.content).base64EncodedString(), bad.name].joined(separator: "\t")
        + "\n"
    }
    for line in lines {
      #expect(line.split(separator: "\t").count >= 3 && line.filter(\.isNewline).count == 1)
    }
    let file = Checkout.root.appendingPathComponent("Tests/Fixtures/callbacks/bad-bodies.tsv")
    if ProcessInfo.processInfo.environment["CALLGATE_WRITE_FIXTURES"] == "1" {
      try Data(lines.joined().utf8).write(to: file)
    }
    #expect(try Data(contentsOf: file) == Data(lines.joined().utf8))
  }

  @Test(arguments: BadBody.all) func `a bad body gets its documented status and code`(bad: BadBody) throws {
    let problem = try #require(refusal(of: bad.content, terms: .plain()))
    #expect(problem.code.rawValue == bad.code)
    #expect(problem.code.status.code == Self.statuses[bad.code])
    if let path = bad.path { #expect(problem.fields.map(\.name).contains(path)) }
    if bad.code != "invalid_request" { #expect(problem.fields.isEmpty) }
    // The response repeats no value, since it would show a number in full.
    let told = problem.detail + problem.fields.map { $0.name + $0.description }.joined()
    #expect(!told.contains("4155550100"))
    #expect(!told.contains("alert") && !told.contains("passwd"))
  }

  @Test func `as the context, JSONTestSuite's texts are judged as JSON alone would`() throws {
    let suite = try Vector.jsonTestSuite()
    #expect(suite.count == 318)
    for (name, content) in suite {
      let problem = refusal(of: content, terms: try .plain())
      // None of these is a valid callback, so all are refused. The code shows whether they were read as JSON.
      let isDuplicate = name.hasPrefix("y_object_duplicated_key")
      if name.hasPrefix("n_") || isDuplicate {
        #expect(problem?.code == .invalidJSON || problem?.code == .contentTooLarge, "\(name)")
      } else if name.hasPrefix("y_") {
        #expect(problem?.code == .invalidRequest, "\(name)")
      } else {
        #expect(problem != nil, "\(name)")
      }
    }
  }

}
