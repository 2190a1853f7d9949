// Starts http2_server.py, an HTTP/2 server, tells it how to respond, and reads its reports.

import Dispatch
import Glibc
public import JSON
import Synchronization

/// An HTTP/2 server over TLS on a loopback port, in its own process. It answers 200 to every request unless
/// told otherwise.
public final class HTTP2Server: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// Whether the server's Python library is installed: script/bootstrap does that.
  public static let isAvailable: Bool = {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    guard let pid = try? spawn([python, "-c", "import h2"], &actions) else { return false }
    return end(of: pid) == 0
  }()

  private static let folder = "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/")
  private static let python = folder + "/../../.build/tools/bin/python"

  private struct State {
    var told = 0
    var events: [JSONObject] = []
    var hasEnded = false
  }

  private let pid: pid_t
  private let input: Int32
  private let output: Int32
  private let state = Mutex(State())

  /// Starts the server.
  /// - Parameter streams: how many streams a client may open at once.
  public init(certificatePEM: [UInt8], keyPEM: [UInt8], streams: Int = 1000) throws {
    let (input, output) = (try Self.socketPair(), try Self.socketPair())
    defer {
      close(input.theirs)
      close(output.theirs)
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input.theirs, 0)
    posix_spawn_file_actions_adddup2(&actions, output.theirs, 1)
    (self.input, self.output) = (input.ours, output.ours)
    pid = try Self.spawn([Self.python, "-u", "-B", Self.folder + "/../Fixtures/http2_server.py"], &actions)
    write([
      "certificate": .string(String(decoding: certificatePEM, as: UTF8.self)),
      "key": .string(String(decoding: keyPEM, as: UTF8.self)), "streams": .number(JSONNumber(Int64(streams))),
    ])
    DispatchQueue(label: "http2 server").async { [self] in read() }
  }

  deinit {
    close(input)
    close(output)
  }

  /// Kills the server.
  public func stop() {
    kill(pid, SIGKILL)
    _ = Self.end(of: pid)
  }

  /// The server's reports so far.
  public var events: [JSONObject] { state.withLock { $0.events } }

  /// The reports of one kind.
  public func events(_ kind: String) -> [JSONObject] { events.filter { $0["event"]?.string == kind } }

  /// The requests that have arrived.
  public var requests: [JSONObject] { events("request") }

  /// The server's port.
  public func port() async throws -> Int {
    try await wait { !events("listening").isEmpty }
    return Int(events("listening").first?["port"]?.int ?? 0)
  }

  /// Sends a message in the form that http2_server.py documents: the next response, or a command. Returns
  /// when the server has confirmed it.
  public func send(_ message: JSONObject) async throws {
    let told = state.withLock { state in
      state.told += 1
      return state.told
    }
    write(message)
    try await wait { events("told").count >= told }
  }

  private func write(_ message: JSONObject) {
    let line = message.serialized() + [UInt8(ascii: "\n")]
    var rest = line[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Returns when a condition is true; throws if the server has ended.
  public func wait(until condition: () -> Bool) async throws {
    try await eventually {
      if condition() { return true }
      guard !state.withLock({ $0.hasEnded }) else { throw Failure(description: "the server has ended") }
      return false
    }
  }

  private func read() {
    var text: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(output, &piece, piece.count)
      guard count > 0 else { break }
      text += piece[..<count]
      while let end = text.firstIndex(of: UInt8(ascii: "\n")) {
        guard let event = (try? JSONValue(parsing: Array(text[..<end])))?.object else {
          preconditionFailure("an event that is no JSON object")
        }
        text.removeFirst(end + 1)
        state.withLock { $0.events.append(event) }
      }
    }
    state.withLock { $0.hasEnded = true }
  }

  /// Two connected sockets in place of a pipe: glibc shows Swift no way to make a pipe that other child
  /// processes do not inherit.
  private static func socketPair() throws -> (ours: Int32, theirs: Int32) {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Failure(description: "socketpair: \(errno)") }
    return (ends[0], ends[1])
  }

  private static func spawn(
    _ command: [String], _ actions: inout posix_spawn_file_actions_t
  ) throws -> pid_t {
    let arguments = command.map { strdup($0) } + [nil]
    defer { for text in arguments { free(text) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, command[0], &actions, nil, arguments, environ)
    guard code == 0 else { throw Failure(description: "\(command[0]): cannot be started (\(code))") }
    return pid
  }

  private static func end(of pid: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    return status
  }
}

/// Runs a test's body against a new server, and stops the server afterwards.
public func withHTTP2Server<Result>(
  certificatePEM: [UInt8], keyPEM: [UInt8], streams: Int = 1000,
  _ body: (HTTP2Server) async throws -> Result
) async throws -> Result {
  let server = try HTTP2Server(certificatePEM: certificatePEM, keyPEM: keyPEM, streams: streams)
  defer { server.stop() }
  return try await body(server)
}
