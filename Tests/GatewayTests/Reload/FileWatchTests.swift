// Tests of how the server notices that a configuration file has changed.

import Foundation
import Synchronization
import Testing

@testable import Configuration
@testable import Gateway
@testable import Serving

@Suite struct FileWatchTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "watch-\(UUID().uuidString)")

  private func write(_ text: String, to name: String) throws -> String {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let path = folder.appending(path: name).path
    // Another file at the same path, as a deployment would put it there.
    try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    return path
  }

  private func stamps(_ paths: String...) -> [String: FileStamp] {
    Dictionary(uniqueKeysWithValues: paths.map { ($0, FileStamp(path: $0)) })
  }

  @Test func `a change counts once, after it has stayed for a look`() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = try write("one", to: "a")
    let watch = FileWatch(stamps(path))
    #expect(!watch.poll() && !watch.poll())
    _ = try write("two", to: "a")
    #expect(!watch.poll())
    #expect(watch.poll())
    #expect(!watch.poll() && !watch.poll())
  }

  @Test func `a file that is still being written is waited for`() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = try write("one", to: "a")
    let watch = FileWatch(stamps(path))
    for text in ["tw", "two", "two and"] {
      _ = try write(text, to: "a")
      #expect(!watch.poll())
    }
    #expect(watch.poll())
  }

  @Test func `a file that goes and comes back is noticed both times`() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = try write("one", to: "a")
    let watch = FileWatch(stamps(path))
    try FileManager.default.removeItem(atPath: path)
    #expect(!watch.poll() && watch.poll())
    _ = try write("one", to: "a")
    #expect(!watch.poll() && watch.poll())
  }

  @Test func `after a failure the files only it names are watched too, without repeating the failure`() throws
  {
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = try write("one", to: "a")
    let missing = folder.appending(path: "b").path
    let watch = FileWatch(stamps(path))
    _ = try write("names b", to: "a")
    #expect(!watch.poll() && watch.poll())
    watch.note([path: FileStamp(path: path), missing: .missing], serves: false)
    #expect(!watch.poll() && !watch.poll() && !watch.poll())
    _ = try write("there", to: "b")
    #expect(!watch.poll() && watch.poll())
    watch.note(stamps(path, missing), serves: true)
    #expect(!watch.poll() && !watch.poll())
  }

  @Test func `another owner of the same name is a change`() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = try write("one", to: "a")
    let before = FileStamp(path: path)
    _ = try write("eno", to: "a")
    #expect(FileStamp(path: path) != before)
    #expect(FileStamp(path: path + "x") == .missing)
  }
}
