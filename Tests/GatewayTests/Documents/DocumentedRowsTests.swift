// Tests that Sources/README.md names every table of the stores, with the limits of the code.

import Foundation
import Gate
import TestSupport
import Testing

@testable import Appointments
@testable import Configuration
@testable import Installations
@testable import PushDelivery
@testable import Store

@Suite struct DocumentedRowsTests {
  private static let page = Checkout.root.appending(path: "Sources/README.md")

  /// Cells of each row of the table, by the name in the first cell.
  private func rows() throws -> [String: [String]] {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let section = try #require(
      text.components(separatedBy: "### Rows that a caller can make").dropFirst().first?
        .components(separatedBy: "\n#").first)
    var rows: [String: [String]] = [:]
    for line in section.split(separator: "\n") where line.hasPrefix("| `callgate_") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      #expect(cells.count == 4, "\(line)")
      #expect(rows.updateValue(cells, forKey: cells[0].replacing("`", with: "")) == nil)
    }
    return rows
  }

  @Test func `every table of the schema has one row, and no other has one`() throws {
    var tables: Set<String> = []
    for step in Migration.all {
      for statement in step.sqlite + step.postgres where statement.hasPrefix("CREATE TABLE ") {
        tables.insert(String(statement.dropFirst("CREATE TABLE ".count).prefix { $0 != " " }))
      }
    }
    #expect(tables.count > 10)
    #expect(Set(try rows().keys) == tables)
  }

  @Test func `the limits are those of the code`() throws {
    func written(_ number: some BinaryInteger) -> String {
      Int64(number).formatted(.number.locale(Locale(identifier: "en")))
    }
    let brakes = Brakes()
    let limits: [(table: String, words: String)] = [
      ("callgate_claim", "\(ClaimBook.mostLive) live and \(StoredClaim.mostOver) that are over"),
      ("callgate_enrolment", "\(written(Enrolling.mostPending)) that wait"),
      (
        "callgate_callback",
        "\(brakes.perFiveMinutes) callbacks in five minutes and \(written(brakes.perHour)) in an hour"
      ),
      ("callgate_installation", "`per_subject` (\(InstallationTerms().perSubject))"),
      ("callgate_screening", "\(written(ScreeningVerdict.most)); \(brakes.lookupsPerHour) lookups an hour"),
      ("callgate_login", "\(written(StoredLogin.most));"),
      ("callgate_hook_name", "\(StoredDevice.mostNames) for each installation"),
      ("callgate_installation", "\(InstallationQuery.mostRevoked) revoked ones for each user"),
    ]
    let rows = try rows()
    for (table, words) in limits {
      #expect(rows[table]?[2].contains(words) == true, "\(table): \(words)")
    }
  }
}
