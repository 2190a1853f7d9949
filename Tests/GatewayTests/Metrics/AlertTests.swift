// Tests that every outcome of an upstream service has an alert, or a reason not to have one.

import Foundation
import TestSupport
import Testing

@testable import Records

@Suite struct AlertTests {
  /// Outcomes without an alert, and why each needs none.
  private static let reasons: [String: String] = [
    "talkdesk_id success": "works", "callback_api accepted": "works", "jwks success": "works",
    "policy success": "works", "sendbird success": "works",
    "callback_api rejected": "about the values of one callback, whose caller gets 4xx",
    "jwks cancelled": "a reload or the end of the process", "policy cancelled": "the client has left",
    "sendbird unknown_user": "the user is created next", "sendbird known_user": "the user exists already",
  ]

  /// Each `upstream outcome` that an alert selects. Selectors of `success` do not count: they silence an
  /// alert.
  private func alerted() throws -> Set<String> {
    let text = try String(
      contentsOf: Checkout.root.appending(path: "deploy/prometheus/alerts.yml"), encoding: .utf8)
    let selector = /callgate_upstream_requests_total\{([^}]*)\}/
    var found: Set<String> = []
    for match in text.matches(of: selector) {
      func values(_ label: String) -> [Substring]? {
        // The label's name, an operator, and a value in quotation marks.
        guard let at = match.1.firstRange(of: "\(label)=") else { return nil }
        return match.1[at.upperBound...].split(separator: "\"", omittingEmptySubsequences: false)[1]
          .split(separator: "|")
      }
      guard let outcomes = values("outcome"), outcomes != ["success"] else { continue }
      for upstream in values("upstream") ?? [] {
        for outcome in outcomes { found.insert("\(upstream) \(outcome)") }
      }
    }
    return found
  }

  @Test func `each outcome of each service has an alert or a reason to have none`() throws {
    let all = Set(
      ServiceMetrics.Upstream.allCases.flatMap { upstream in
        upstream.outcomes.map { "\(upstream.rawValue) \($0)" }
      })
    let alerted = try alerted().intersection(all)
    #expect(alerted.contains("talkdesk_id signing_failed") && alerted.contains("talkdesk_id refused"))
    // A failed lookup is shown to operators (`screening`), and `on_failure` decides about the callback, so it
    // needs no alert.
    let lookups = all.filter { $0.hasPrefix("phone_validation ") || $0.hasPrefix("do_not_call ") }
    let explained = Set(Self.reasons.keys).union(lookups)
    #expect(all.subtracting(alerted).subtracting(explained) == [], "no alert and no reason")
    #expect(explained.subtracting(all) == [], "not an outcome")
    #expect(explained.intersection(alerted) == [], "an alert in spite of a reason")
  }
}
