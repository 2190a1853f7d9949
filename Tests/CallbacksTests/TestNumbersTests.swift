// Tests of the phone numbers that the sandbox refuses on demand.

import Foundation
import Gate
import HTTP
import TestSupport
import Testing

@testable import API
@testable import Callbacks
@testable import Configuration
@testable import RoomSupport

@Suite struct TestNumbersTests {
  @Test func `each number is refused with its code, and no other number is`() throws {
    for (ending, code) in TestNumbers.codes {
      let problem = try #require(TestNumbers.problem(E164(TestNumbers.number(ending: ending))))
      #expect(problem.code == code)
    }
    #expect(TestNumbers.problem(try E164("+12025550100")) == nil)
    #expect(TestNumbers.problem(try E164("+14155550131")) == nil)
  }

  @Test func `there is one for each refusal behind the validation of a callback`() {
    let statuses = [403, 409, 422, 429, 502, 503, 504]
    // App Check is checked with the credentials, before the validation. Strict audit refuses requests that
    // every other part has allowed.
    let earlier: Set<Problem.Code> = [.attestationFailed, .attestationUnavailable, .auditUnavailable]
    let refusals = APIOperation.callbacks.allRefusals.filter {
      statuses.contains($0.status.code) && !earlier.contains($0)
    }
    #expect(Set(TestNumbers.codes.map(\.code)) == Set(refusals))
    #expect(TestNumbers.codes.count == refusals.count)
  }

  @Test func `docs/build/sandbox.md lists them`() throws {
    let page = try String(contentsOf: Checkout.root.appending(path: "docs/build/sandbox.md"), encoding: .utf8)
    for (ending, code) in TestNumbers.codes {
      let row = "- `\(TestNumbers.number(ending: ending))`: \(code.status.code) `\(code.rawValue)`"
      #expect(page.contains(row + "\n"), "\(row)")
    }
    let rows = page.components(separatedBy: "\n").filter { line in
      line.wholeMatch(of: /- `\+1202555\d{4}`: \d{3} `\w+`/) != nil
    }
    #expect(rows.count == TestNumbers.codes.count)
  }

  @Test func `a server takes the example for the sandbox`() throws {
    let yaml = try String(
      contentsOf: Checkout.root.appending(path: "Examples/samples/sandbox/callgate.yaml"), encoding: .utf8)
    let loaded = try Fixture.load(yaml, environment: [:], for: .sandbox)
    #expect(loaded.notices.isEmpty, "\(loaded.notices)")
    #expect(loaded.configuration.policy.rules.count == 3)
  }

  @Test func `their rules are known by name`() {
    #expect(TestNumbers.rules.isSuperset(of: ["opening-hours", "paying", "default-numbers", "agents"]))
  }
}
