// Tests of reading small files and of what a process was started with.

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

  @Test func `a pipe without a writer is no reason to wait`() throws {
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
