// A real PostgreSQL server for the tests: made in a temporary directory, on a loopback port, and gone with the process.

import DatabaseURL
import Foundation
import Glibc
import PostgresStore
import Store
import Synchronization

/// A server for the tests. A small shell waits on a pipe from this process. It ends the server and deletes
/// its directory when this process is gone, for whatever reason.
final class PostgresServer: Sendable {
  typealias Failure = ChildProcess.Failure

  /// The folder of the server's programs; nil if none are installed.
  static let programs: String? = {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    let found = versions.compactMap { Int($0) }.sorted().last.map { "\(root)/\($0)/bin" }
    if found == nil {
      let note =
        "StoreTests: NO POSTGRESQL SERVER UNDER \(root): its tests are skipped. Install `postgresql`.\n"
      FileHandle.standardError.write(Data(note.utf8))
    }
    return found
  }()

  static var isInstalled: Bool { programs != nil }

  /// The server shared by tests that do not stop it.
  static let shared = Result { try PostgresServer(options: [], copying: nil) }

  let directory: String
  let port: Int
  private let programs: String
  /// The shell that cleans up notices when this end closes.
  private let lifeline: Int32
  private let databases = Mutex(0)

  convenience init(options: [String] = []) throws {
    try self.init(options: options, copying: "\(Self.shared.get().directory)/cluster")
  }

  /// - Parameter cluster: a directory made by `initdb`; nil to make one, which takes seconds.
  private init(options: [String], copying cluster: String?) throws {
    guard let programs = Self.programs else { throw Failure(description: "no server installed") }
    self.programs = programs
    var template = Array("/tmp/callgate-postgres-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(description: "mkdtemp: \(errno)") }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    port = try Self.freePort()
    let pipe = try ChildProcess.pipe()
    lifeline = pipe.write
    defer { close(pipe.read) }
    // Not a child of this process: the testing library's exit tests wait for any child that has ended, and
    // miss theirs as long as there is one that nobody waits for.
    let shell = try ChildProcess(
      [
        "sh", "-c",
        """
        exec 3<&0
        {
          trap '' INT TERM HUP; cat <&3 >/dev/null
          if [ -s "$1/data/postmaster.pid" ]; then
            pid=$(head -n 1 "$1/data/postmaster.pid")
            kill -QUIT "$pid"; kill -CONT "$pid"
          fi
          n=0; while [ -e "$1/data/postmaster.pid" ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; rm -rf "$1"
        } &
        """, "janitor", directory,
      ], input: pipe.read)
    guard shell.wait() == 0 else { throw Failure(description: "no janitor") }
    if geteuid() == 0 { try ChildProcess.run(["chown", Self.user, directory]) }
    try Data("secret\n".utf8).write(to: URL(fileURLWithPath: "\(directory)/password"))
    if cluster == nil {
      try run([
        "\(programs)/initdb", "-D", "\(directory)/cluster", "-U", "callgate",
        "--pwfile=\(directory)/password", "--auth=scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C",
      ])
    }
    try run(["cp", "-a", cluster ?? "\(directory)/cluster", "\(directory)/data"])
    let settings =
      [
        "listen_addresses = '127.0.0.1'", "port = \(port)", "unix_socket_directories = '\(directory)'",
        // The tests are about this program. The machine's kernel does not crash here.
        "fsync = off", "max_connections = 1500", "shared_buffers = 16MB", "log_min_messages = fatal",
      ] + options
    let file = "\(directory)/data/postgresql.conf"
    let text = try String(contentsOfFile: file, encoding: .utf8) + settings.joined(separator: "\n") + "\n"
    try text.write(toFile: file, atomically: false, encoding: .utf8)
    try start()
  }

  deinit { close(lifeline) }

  func start() throws {
    try run([
      "\(programs)/pg_ctl", "-D", "\(directory)/data", "-l", "\(directory)/log", "-w", "-t", "30", "-s",
      "start",
    ])
  }

  /// Stops the server at once, like a crash.
  func stop() throws {
    try run(["\(programs)/pg_ctl", "-D", "\(directory)/data", "-m", "immediate", "-w", "-s", "stop"])
  }

  /// Suspends every process of the server, or resumes them.
  func freeze(_ isFrozen: Bool) throws {
    let text = try String(contentsOfFile: "\(directory)/data/postmaster.pid", encoding: .utf8)
    guard let pid = text.split(separator: "\n").first.flatMap({ Int32($0) }) else {
      throw Failure(description: "no pid")
    }
    let children = try String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
    for process in [pid] + children.split(separator: " ").compactMap({ Int32($0) }) {
      kill(process, isFrozen ? SIGSTOP : SIGCONT)
    }
  }

  /// A new database.
  /// - Parameters:
  ///   - language: the ICU name of the language that sorts texts; nil to sort by bytes.
  ///   - template: the name of the database to copy; nil for an empty database.
  func database(language: String? = nil, template: String? = nil) throws -> PostgresAddress {
    let name = databases.withLock { count in
      count += 1
      return "test\(count)"
    }
    let order =
      language.map { ["-T", "template0", "--locale-provider=icu", "--icu-locale=\($0)"] }
      ?? template.map { ["-T", $0] } ?? []
    try ChildProcess.run(
      ["\(programs)/createdb", "-h", "127.0.0.1", "-p", "\(port)", "-U", "callgate"] + order + [name],
      environment: ["PGPASSWORD": "secret"])
    return try address(name)
  }

  /// The name of a database on the shared server with the newest schema. No test uses it, so it can be
  /// copied.
  static let template = Task {
    let address = try shared.get().database()
    let store = PostgresStore(address, connections: 1)
    try await store.migrate()
    await store.close()
    return String(address.text.split(separator: "/").last ?? "")
  }

  func address(_ name: String, parameters: String = "") throws -> PostgresAddress {
    try PostgresAddress("postgres://callgate:secret@127.0.0.1:\(port)/\(name)\(parameters)")
  }

  /// The result of a query as text, from the server's own client.
  func query(_ database: String, _ sql: String) throws -> String {
    try ChildProcess.run(
      [
        "\(programs)/psql", "-h", "127.0.0.1", "-p", "\(port)", "-U", "callgate", "-d", database, "-XAtq",
        "-c", sql,
      ], environment: ["PGPASSWORD": "secret"])
  }

  // MARK: Processes

  /// The user that runs the server, which refuses to run as root.
  static let user = getpwnam("postgres") != nil ? "postgres" : "nobody"

  func run(_ command: [String]) throws {
    try ChildProcess.run(geteuid() == 0 ? ["runuser", "-u", Self.user, "--"] + command : command)
  }

  static func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
      }
    }
    guard code == 0 else { throw Failure(description: "no port") }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
