// Chooses which of several PostgreSQL servers to connect to, and when to try again.

import DatabaseURL
import Glibc
import Platform
import Store
import Synchronization

/// The shared knowledge of a store's connections about the way to a server.
///
/// libpq goes on to the next server, or to the next address of a name, when one refuses; when one does not answer, only its
/// blocking functions do. So each is tried by itself here, with a share of the time there is. The one that worked is tried
/// first the next time; where none worked, those come first that were not tried.
final class PostgresRoute: Sendable {
  private struct State {
    var first: PostgresHost?
    var backOff = BackOff()
    var closed: (until: MonotonicTime, error: StoreError)?
  }

  /// The least time for each server, however many there are.
  static let leastShare = Duration.seconds(1)

  /// Gives a server once for each address of its name.
  typealias Resolve = @Sendable (PostgresHost) throws(PostgresFailure) -> [PostgresHost]

  private let clock = SystemClock()
  private let resolve: Resolve
  private let state = Mutex(State())

  init(resolve: @escaping Resolve = { host throws(PostgresFailure) in try host.resolved() }) {
    self.resolve = resolve
  }

  // MARK: Asking again

  /// Fails while no connection is to be tried.
  func check(at now: MonotonicTime) throws(StoreError) {
    if let closed = state.withLock({ $0.closed }), now < closed.until { throw closed.error }
  }

  /// Something was done on a connection.
  func succeeded() {
    state.withLock { state in
      state.closed = nil
      state.backOff.succeeded()
    }
  }

  /// No connection could be made, or one broke twice. Connections that fail while none is to be tried are of the same outage.
  func failed(_ error: StoreError, at now: MonotonicTime) {
    state.withLock { state in
      if let closed = state.closed, now < closed.until { return }
      state.closed = (now + state.backOff.failed(), error)
    }
  }

  /// The next connection is tried at once.
  func reopen() { state.withLock { $0.closed = nil } }

  // MARK: Connecting

  /// Connects to a server of an address. Of several, or of several addresses of one name, to the first that can be written, unless
  /// the address says which to take. Where all that answer can only be read, to the first of these: two addresses may be one server.
  ///
  /// - Throws: The refusals of all servers, if none accepted the connection in time; the refusal of a password at once.
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

  /// Whether nobody can say if the user has libpq's default certificate, as in a container whose HOME is another user's. libpq would
  /// give up TLS: to it only ENOENT and ENOTDIR mean that there is none (fe-secure-openssl.c, `initialize_SSL`).
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
  /// It, once for each address of its name.
  ///
  /// - Throws: when the name has none. It is looked up by the system, which may take as long as its settings allow.
  func resolved() throws(PostgresFailure) -> [PostgresHost] {
    // A folder is a local socket's.
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
