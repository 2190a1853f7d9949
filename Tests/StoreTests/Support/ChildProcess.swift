// Starts programs for the tests; Foundation's `Process` would wait for every background descendant to end.

import Glibc
import Synchronization

/// A started program.
struct ChildProcess {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let pid: pid_t

  /// Held while a descriptor is made that no child may inherit, and while a child is started.
  private static let making = Mutex(())

  /// A pipe that children inherit only if they are given an end.
  static func pipe() throws -> (read: Int32, write: Int32) {
    let ends = making.withLock { _ -> [Int32]? in
      var ends: [Int32] = [0, 0]
      guard Glibc.pipe(&ends) == 0 else { return nil }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return ends
    }
    guard let ends else { throw Failure(description: "pipe: \(errno)") }
    return (ends[0], ends[1])
  }

  /// Starts a program found in PATH, in /tmp.
  init(
    _ command: [String], environment: [String: String] = [:], input: Int32? = nil, output: Int32? = nil
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    if let output {
      posix_spawn_file_actions_adddup2(&actions, output, 1)
    } else {
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var variables = environment
    for name in ["PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR"] {
      if let value = getenv(name) { variables[name] = String(cString: value) }
    }
    let arguments = (["env", "-C", "/tmp"] + command).map { strdup($0) } + [nil]
    let settings = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in arguments + settings { free(text) } }
    var pid: pid_t = 0
    let code = Self.making.withLock { _ in posix_spawnp(&pid, "env", &actions, nil, arguments, settings) }
    guard code == 0 else { throw Failure(description: "\(command[0]): cannot be started (\(code))") }
    self.pid = pid
  }

  /// Waits until the program has ended, and returns its status from wait(2).
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    return status
  }

  /// Runs a program to its end and returns its output; throws the output if the program fails.
  @discardableResult static func run(_ command: [String], environment: [String: String] = [:]) throws
    -> String
  {
    // A file instead of a pipe: a server left running keeps open whatever it inherits.
    var template = Array("/tmp/callgate-output-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    guard file >= 0 else { throw Failure(description: "mkstemp: \(errno)") }
    unlink(template)
    defer { close(file) }
    let status = try ChildProcess(command, environment: environment, output: file).wait()
    lseek(file, 0, SEEK_SET)
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(file, &bytes, bytes.count)
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    guard status == 0 else {
      throw Failure(description: "\(command.joined(separator: " ")): status \(status): \(text)")
    }
    return text
  }
}
