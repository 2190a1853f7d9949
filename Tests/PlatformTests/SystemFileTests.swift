// Tests of reading small files, and the arguments and environment of a process.

import Glibc
import Platform
import Testing

struct SystemFileTests {
  @Test func `a file is read whole, and of a longer one the first bytes`() throws {
    let whole = try SystemFile.bytes(of: "/proc/self/status", limit: 1 << 20)
    #expect(whole.starts(with: "Name:".utf8))
    #expect(try SystemFile.bytes(of: "/dev/zero", limit: 40_000).count == 40_000)
    #expect(try SystemFile.bytes(of: "/dev/null", limit: 1).isEmpty)
  }

  @Test(arguments: ["/nowhere/at/all", "/proc/self/status/below", "/proc/self"])
  func `what is no file is missing`(_ path: String) {
    let error = #expect(throws: SystemError.self) { try SystemFile.bytes(of: path, limit: 1) }
    #expect(error?.isMissingFile == true)
  }

  @Test func `the zeros of a power cut divide no line, and no other octet goes`() throws {
    let path = "/tmp/zeros-\(getpid())"
    defer { unlink(path) }
    let zeros = [UInt8](repeating: 0, count: 600_000)
    for (text, lines) in [
      (Array("a\nb".utf8) + zeros, ["a\n", "b\0"]), (Array("a\nb".utf8) + zeros + [0x0A], ["a\n", "b\0\n"]),
      (zeros + Array("c\n".utf8), ["\0c\n"]), (Array("a\0\0\n\0".utf8), ["a\0\0\n", "\0"]),
    ] {
      unlink(path)
      let file = try AppendedFile(path: path)
      #expect(file.append(text, from: 0).error == nil)
      var found: [String] = []
      try SystemFile.readLines(of: path, longest: 1000) { line, _ in
        found.append(String(decoding: line, as: UTF8.self))
      }
      #expect(found.map { $0.replacing(/\0+/, with: "\0") } == lines.map { $0.replacing(/\0+/, with: "\0") })
      #expect(found.allSatisfy { $0.utf8.count < 300_000 })
    }
  }

  @Test func `a pipe without a writer does not block`() throws {
    let path = "/tmp/pipe-\(getpid())"
    #expect(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    #expect(try SystemFile.bytes(of: path, limit: 1).isEmpty)
  }

  @Test func `the variables are getenv's`() throws {
    let variables = ProcessEnvironment.variables()
    let path = try #require(getenv("PATH"))
    #expect(variables["PATH"] == String(cString: path))
    #expect(variables.count > 1)
  }

  @Test func `the working directory is where relative paths begin`() {
    #expect(realpath(".", nil).map { String(cString: $0) } == ProcessEnvironment.workingDirectory())
  }
}
