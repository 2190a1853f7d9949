// Tests of how `callgate test-call` writes its file of facts.

import Foundation
import Testing

@testable import Diagnosis

@Suite struct FactsFileTests {
  private static let facts = Array(#"{"callback":{"status":201},"token":{}}"#.utf8)

  /// Runs a test in a folder of its own.
  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer {
      do { try FileManager.default.removeItem(at: folder) } catch { Issue.record("\(error)") }
    }
    try body(folder.path)
  }

  private func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test func `looking leaves nothing, and writing leaves one file for its owner`() throws {
    try inFolder { folder in
      let path = folder + "/facts.json"
      let file = try FactsFile(path)
      #expect(try names(folder) == [])
      try file.write(Self.facts)
      #expect(try names(folder) == ["facts.json"])
      #expect(try mode(path) == 0o600)
      #expect(FileManager.default.contents(atPath: path) == Data(Self.facts))
    }
  }

  @Test func `earlier facts are replaced, with their permissions`() throws {
    try inFolder { folder in
      let path = folder + "/facts.json"
      try Data(Self.facts).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
      let newer = Array(#"{"callback":{"status":202},"token":{}}"#.utf8)
      try FactsFile(path).write(newer)
      #expect(FileManager.default.contents(atPath: path) == Data(newer))
      #expect(try mode(path) == 0o600)
    }
  }

  @Test(arguments: ["", "talkdesk: {}\n", "{}", #"{"callback":{}}"#, #"{"callback":1,"token":{}}"#, "[]"])
  func `any other file is left alone`(content: String) throws {
    try inFolder { folder in
      let path = folder + "/callgate.yaml"
      try Data(content.utf8).write(to: URL(filePath: path))
      #expect {
        try FactsFile(path)
      } throws: { "\($0)".hasSuffix("it is not a facts file") }
      #expect(FileManager.default.contents(atPath: path) == Data(content.utf8))
      #expect(try names(folder) == ["callgate.yaml"])
    }
  }

  @Test func `a folder, a device and a missing folder are refused`() throws {
    try inFolder { folder in
      for (path, words) in [
        (folder, "it is a directory"), ("/dev/null", "not a regular file"),
        (folder + "/no/facts.json", "No such file"),
        ("", "No such file"), ("/proc/facts.json", "cannot"),
      ] {
        #expect {
          try FactsFile(path)
        } throws: { "\($0)".contains(words) && "\($0)".contains("cannot be written") }
      }
    }
  }

  @Test func `a folder that is lost meanwhile is reported, and nothing is left`() throws {
    try inFolder { folder in
      let path = folder + "/facts.json"
      let file = try FactsFile(path)
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      #expect(throws: FactsFile.Failure.self) { try file.write(Self.facts) }
      #expect(try names(folder) == ["facts.json"])
    }
  }
}
