import Foundation
import JSON
import Testing

/// Nicolas Seriot's JSONTestSuite, where the shared vectors stand beside the checkout.
enum SharedVectors {
  static let folder: String? = {
    let beside = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared").path
    let path = ProcessInfo.processInfo.environment["CALLGATE_SHARED"] ?? beside
    return FileManager.default.fileExists(atPath: path + "/vectors/jsontestsuite") ? path + "/vectors" : nil
  }()
}

@Suite(.enabled(if: SharedVectors.folder != nil)) struct JSONTestSuiteTests {
  /// Accepted by RFC 8259's grammar, refused here on purpose: a name that appears twice.
  static let duplicates: Set = ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"]
  /// Where the RFC leaves the choice: a number of any size is text and therefore accepted; everything else is refused.
  static func accepted(_ name: String) -> Bool { name.hasPrefix("i_number_") }

  @Test func `the whole suite is judged as documented`() throws {
    let folder = try #require(SharedVectors.folder) + "/jsontestsuite/test_parsing"
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
    #expect(names.count > 300)
    for name in names {
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
      let verdict: JSONError?
      do {
        _ = try JSONValue(parsing: bytes)
        verdict = nil
      } catch {
        verdict = error
      }
      switch name.prefix(2) {
      case "y_" where Self.duplicates.contains(name): #expect(verdict?.reason == .duplicateName, "\(name)")
      case "y_": #expect(verdict == nil, "\(name)")
      case "n_": #expect(verdict != nil, "\(name)")
      default: #expect((verdict == nil) == Self.accepted(name), "\(name)")
      }
    }
  }
}
