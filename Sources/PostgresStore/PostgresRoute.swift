// Chooses which of several PostgreSQL servers to connect to, and when to try again.

import DatabaseURL
import Glibc
import Platform
import Store
import Synchronization

/// What a store's connections know about its servers: which one to try first, and when to try again after a
/// failure.
///
/// If a server refuses, libpq tries the next server, or the next address of its name. If a server does not
/// answer, only libpq's blocking functions do so. So this class tries each address separately, with a share
/// of the remaining time. The address that worked is tried first the next time. If none worked, those that
/// were not tried come first.
final class PostgresRoute: Sendable {
  private struct State {
    var first: PostgresHost?
    var backOff = BackOff()
    var closed: (until: MonotonicTime, error: StoreError)?
  }

  /// The minimum time for a server, however many there are. A server that is tried near the end of the whole
  /// time gets at least half of it.
  static let leastShare = Duration.seconds(1)

  /// A function that returns a server once for each address of its name.
  typealias Resolve = @Sendable (PostgresHost) throws(PostgresFailure) -> [PostgresHost]

  private let clock = SystemClock()
  private let resolve: Resolve
  private let state = Mutex(State())

  init(resolve: @escaping Resolve = { host throws(PostgresFailure) in try host.resolved() }) {
    self.resolve = resolve
  }

  // MARK: Trying again

  /// Throws the last error during the pause after a failure, while no connection may be tried.
  func check(at now: MonotonicTime) throws(StoreError) {
    if let closed = state.withLock({ $0.closed }), now < closed.until { throw closed.error }
  }

  /// Records that work on a connection succeeded, and ends the pause.
  func succeeded() {
    state.withLock { state in
      state.closed = nil
      state.backOff.succeeded()
    }
  }

  /// Records that no connection could be made, that one broke twice, or that the server did not respond in
  /// time, and starts a pause. A failure during the pause belongs to the same outage and changes nothing.
  func failed(_ error: StoreError, at now: MonotonicTime) {
    state.withLock { state in
      if let closed = state.closed, now < closed.until { return }
      state.closed = (now + state.backOff.failed(), error)
    }
  }

  /// Ends the pause, so that the next connection is tried at once.
  func reopen() { state.withLock { $0.closed = nil } }

  // MARK: Connecting

  /// Connects to a server of an address. Of several servers, or several addresses of one name, uses the first
  /// that is not read-only, unless the address says which to use. If all that answer are read-only, uses the
  /// first of these: two addresses may be one server.
  ///
  /// - Throws: The refusals of all servers, if none accepted the connection in time; the refusal of a login
  ///   (SQLSTATE 28…) at once.
  func connect(
    to address: PostgresAddress, within span: Duration
  ) throws(PostgresFailure) -> PostgresConnection {
    do throws(StoreError) { try address.check() } catch {
      throw PostgresFailure(operation: error.operation, message: error.message, isMisconfigured: true)
    }
    guard let hosts = address.hosts else {
      return try PostgresConnection(
        Self.parameters(address, nil), until: min(clock.now + span, limit(address)))
    }
    var failures: [PostgresFailure] = []
    var candidates = hosts.flatMap { host in
      do throws(PostgresFailure) {
        return try resolve(host)
      } catch {
        failures.append(error)
        return []
      }
    }
    let preferred = state.withLock { $0.first }
    if let start = preferred.flatMap({ candidates.firstIndex(of: $0) }) {
      candidates = Array(candidates[start...] + candidates[..<start])
    }
    let deadline = clock.now + span
    var readOnly: PostgresConnection?
    for (index, host) in candidates.enumerated() {
      let left = deadline - clock.now
      guard index == 0 || left > Self.leastShare / 2 else {
        remember(host)
        break
      }
      let share = max(Self.leastShare, left / (candidates.count - index))
      do throws(PostgresFailure) {
        let made = try PostgresConnection(
          Self.parameters(address, host), until: min(clock.now + min(left, share), limit(address)))
        if made.isReadOnly, !address.saysWhichServer, candidates.count > 1 {
          readOnly = readOnly ?? made
          continue
        }
        remember(host)
        return made
      } catch {
        // Another server would refuse the password, too, and count it.
        if error.state?.hasPrefix("28") == true { throw error }
        failures.append(error)
      }
    }
    if let readOnly { return readOnly }
    throw PostgresFailure.connection(failures)
  }

  private static func parameters(_ address: PostgresAddress, _ host: PostgresHost?) -> [(String, String)] {
    let parameters = address.parameters(for: host)
    let variables = ProcessEnvironment.variables()
    guard !parameters.contains(where: { $0.0 == "sslcert" }), variables["PGSSLCERT"] == nil,
      let home = variables["HOME"], hasClosedCertificate(home: home)
    else { return parameters }
    return parameters + [("sslcert", "/dev/null/none")]
  }

  /// Whether this process cannot tell if the user has libpq's default certificate, as in a container whose
  /// HOME belongs to another user. libpq would give up TLS: it takes only ENOENT and ENOTDIR to mean that
  /// there is no certificate (fe-secure-openssl.c, `initialize_SSL`).
  static func hasClosedCertificate(home: String) -> Bool {
    var status = stat()
    guard stat(home + "/.postgresql/postgresql.crt", &status) != 0 else { return false }
    return errno != ENOENT && errno != ENOTDIR
  }

  private func limit(_ address: PostgresAddress) -> MonotonicTime {
    address.timeout.map { clock.now + $0 } ?? MonotonicTime(nanoseconds: .max)
  }

  private func remember(_ host: PostgresHost) { state.withLock { $0.first = host } }
}

extension PostgresHost {
  /// This server, once for each address of its name.
  ///
  /// - Throws: The failure, if the name has no address. The system looks the name up, which may take as long
  ///   as its settings allow.
  func resolved() throws(PostgresFailure) -> [PostgresHost] {
    // A folder means a local socket.
    guard let name, address == nil, !name.hasPrefix("/") else { return [self] }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(name, nil, &hints, &found)
    guard code == 0 else {
      throw PostgresFailure(
        operation: PostgresFailure.connecting,
        message: "the name \"\(name)\" has no address: \(String(cString: gai_strerror(code)))")
    }
    defer { freeaddrinfo(found) }
    var hosts: [PostgresHost] = []
    var next = found
    while let entry = next {
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      let isText = getnameinfo(
        entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
      if isText == 0 {
        let numeric = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        hosts.append(PostgresHost(name: name, address: numeric, port: port))
      }
      next = entry.pointee.ai_next
    }
    return hosts
  }
}
