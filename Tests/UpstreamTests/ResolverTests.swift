// Tests of requests while the DNS resolver works, fails or hangs.

import Certificates
import Dispatch
import Glibc
import HTTP
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Upstream

/// Name lookups. A resolver that misbehaves may not delay a request past its deadline, and may not affect
/// other requests.
@Suite(.serialized, .timeLimit(.minutes(5))) final class ResolverTests {
  private let authority = TestIdentity("", isAuthority: true)
  private let caFile: String

  init() { caFile = authority.writeCertificate() }
  deinit { unlink(caFile) }

  private var script: Script {
    let context = TLSContext(TestIdentity("DNS:upstream.test,DNS:other.test", issuer: authority))
    return Script { connection in
      try connection.startTLS(context)
      try connection.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
  }

  private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

  /// Runs a body with a transport whose names are resolved by a function.
  private func withResolver(
    _ lookUp: @escaping NameLookup.Function, settings: TransportSettings? = nil,
    policy: NameCache.Policy = .init(),
    _ body: (CurlTransport) async throws -> Void
  ) async throws {
    let transport = try CurlTransport(
      settings ?? TransportSettings(authorities: .file(caFile)), names: NameCache(policy: policy),
      lookUp: lookUp)
    do {
      try await body(transport)
      await transport.shutdown()
    } catch {
      await transport.shutdown()
      throw error
    }
  }

  @Test func `a name that leads to this machine is verified even where loopback is not`() async throws {
    let addresses = [try address("127.0.0.1")]
    let settings = TransportSettings(authorities: .file(caFile), verifiesLoopback: false)
    try await withUpstream(script) { upstream in
      try await withResolver({ _, done in done(.success(addresses)) }, settings: settings) { transport in
        expect(await transport.failure(.post("https://third.test:\(upstream.port)/")), .tls, sent: false)
        let response = try await transport.send(.post("https://upstream.test:\(upstream.port)/"))
        #expect(response.text == "ok")
      }
    }
  }

  @Test func `a name is looked up once for many requests, and every address is tried`() async throws {
    let lookups = Mutex(0)
    let addresses = [try address("127.0.0.9"), try address("::1"), try address("127.0.0.1")]
    let lookUp: NameLookup.Function = { _, done in
      lookups.withLock { $0 += 1 }
      done(.success(addresses))
    }
    try await withUpstream(script) { upstream in
      try await withResolver(lookUp) { transport in
        let failures = await withTaskGroup(of: Bool.self) { group in
          for _ in 0..<50 {
            group.addTask {
              do {
                return try await transport.send(.get("https://upstream.test:\(upstream.port)/")).status != 200
              } catch { return true }
            }
          }
          return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failures == 0)
        #expect(lookups.withLock { $0 } == 1)
      }
    }
  }

  @Test func `a resolver that never answers costs the connect timeout, or less where the deadline is sooner`()
    async throws
  {
    let lookups = Mutex(0)
    let lookUp: NameLookup.Function = { name, done in
      if name == "other.test" { return done(.success([IPAddress(v4: 0x7F00_0001)])) }
      lookups.withLock { $0 += 1 }
    }
    var settings = TransportSettings(authorities: .file(caFile))
    settings.connectTimeout = .seconds(2)
    try await withUpstream(script) { upstream in
      try await withResolver(lookUp, settings: settings) { transport in
        let start = ContinuousClock.now
        await withTaskGroup { group in
          for number in 0..<200 {
            group.addTask {
              // Requests beyond the slots time out while waiting, or get the slot of a request that failed.
              let error = await transport.failure(
                .post("https://upstream.test/\(number)", timeout: .seconds(3)))
              #expect(error?.sent == false)
              #expect(error?.reason == .nameResolution || error?.reason == .timedOut)
            }
          }
          for _ in 0..<20 {
            group.addTask {
              let begin = ContinuousClock.now
              do {
                let response = try await transport.send(.get("https://other.test:\(upstream.port)/"))
                #expect(response.status == 200)
              } catch { Issue.record(error) }
              #expect(ContinuousClock.now - begin < .seconds(2))
            }
          }
        }
        #expect(ContinuousClock.now - start < .seconds(8))
        #expect(lookups.withLock { $0 } == 1)
        let error = await transport.failure(.post("https://upstream.test/", timeout: .milliseconds(100)))
        expect(error, .timedOut, sent: false)
      }
    }
  }

  @Test func `when the resolver hangs later, the last answer serves after a moment`() async throws {
    let lookups = Mutex(0)
    let lookUp: NameLookup.Function = { _, done in
      let isFirst = lookups.withLock { count in
        count += 1
        return count == 1
      }
      if isFirst { done(.success([IPAddress(v4: 0x7F00_0001)])) }
    }
    let policy = NameCache.Policy(fresh: .zero, renewable: .zero, patience: .milliseconds(50))
    try await withUpstream(script) { upstream in
      try await withResolver(lookUp, policy: policy) { transport in
        for _ in 1...3 {
          let response = try await transport.send(.get("https://upstream.test:\(upstream.port)/"))
          #expect(response.status == 200)
        }
        #expect(lookups.withLock { $0 } == 2)
      }
    }
  }

  @Test func `a lookup that ends after the shutdown is harmless`() async throws {
    let pending = Mutex<(@Sendable (NameCache.Result) -> Void)?>(nil)
    let lookUp: NameLookup.Function = { _, done in pending.withLock { $0 = done } }
    let transport = try CurlTransport(TransportSettings(), names: NameCache(), lookUp: lookUp)
    async let error = transport.failure(.post("https://upstream.test/"))
    try await eventually { pending.withLock { $0 != nil } }
    await transport.shutdown()
    expect(await error, .cancelled, sent: false)
    pending.withLock { $0 }?(.success([IPAddress(v4: 0x7F00_0001)]))
  }

  @Test func `the system's resolver finds localhost and does not find what is invalid`() async throws {
    func look(_ name: String) async -> NameCache.Result {
      await withCheckedContinuation { continuation in
        NameLookup.start(name) { continuation.resume(returning: $0) }
      }
    }
    let found = try await look("localhost").get()
    #expect(found.contains(IPAddress(v4: 0x7F00_0001)))
    #expect(Set(found).count == found.count)
    guard case .failure(let failure) = await look("upstream.invalid") else {
      Issue.record("found a name under .invalid")
      return
    }
    #expect(!failure.detail.isEmpty)
  }

  // MARK: A real resolver with a name server that never answers

  private static let childVariable = "CALLGATE_TEST_STUCK_RESOLVER"
  private static let nameServer = "127.77.77.77"

  @Sendable private static func isMountingAllowed() async -> Bool {
    let arguments = ["unshare", "--mount", "mount", "--bind", "/etc/resolv.conf", "/etc/resolv.conf"]
    return await ChildProcess.run(arguments) == 0
  }

  /// Runs one test of this test program in another process, where /etc/resolv.conf names a server that
  /// accepts queries and never answers.
  @Test(.enabled("a mount namespace is needed to give a process a resolv.conf of its own", isMountingAllowed))
  func `with a dead name server every request is answered in time and others are not held up`() async throws {
    let server = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(server) }
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = in_port_t(53).bigEndian
    inet_pton(AF_INET, Self.nameServer, &place.sin_addr)
    let code = withUnsafePointer(to: &place) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(server, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(code == 0, "port 53 of \(Self.nameServer) cannot be had")

    var path = Array("/tmp/upstream-resolv-XXXXXX".utf8CString)
    let fd = mkstemp(&path)
    let file = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { unlink(file) }
    let text = "nameserver \(Self.nameServer)\noptions timeout:20 attempts:3\n"
    #expect(write(fd, text, text.utf8.count) == text.utf8.count)
    close(fd)

    let status = await ChildProcess.run(
      [
        "unshare", "--mount", "sh", "-c", "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"", file,
        CommandLine.arguments[0], "--testing-library", "swift-testing", "--filter", "stuckResolverChild",
      ], environment: [Self.childVariable: "1"])
    #expect(status == 0)
    var query = [UInt8](repeating: 0, count: 512)
    #expect(recv(server, &query, query.count, Int32(MSG_DONTWAIT)) > 0, "the name server was not asked")
  }

  @Test(.enabled(if: getenv(childVariable) != nil, "the other half of the test before"))
  func stuckResolverChild() async throws {
    let script = Script { try $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
    try await withUpstream(script) { upstream in
      let transport = try CurlTransport()
      let start = ContinuousClock.now
      await withTaskGroup { group in
        for number in 0..<32 {
          group.addTask {
            let name = "https://host\(number % 4).example/"
            let begin = ContinuousClock.now
            let error = await transport.failure(.post(name, timeout: .milliseconds(700)))
            expect(error, .timedOut, sent: false)
            #expect(ContinuousClock.now - begin < .seconds(2))
          }
        }
        group.addTask {
          let error = await transport.failure(.post("https://host.example/", timeout: .seconds(20)))
          expect(error, .nameResolution, sent: false)
          #expect(ContinuousClock.now - start >= .seconds(3))
          #expect(ContinuousClock.now - start < .seconds(5))
        }
        group.addTask {
          for _ in 0..<100 {
            let begin = ContinuousClock.now
            do {
              let response = try await transport.send(.get("http://localhost:\(upstream.port)/"))
              #expect(response.status == 200)
            } catch { Issue.record(error) }
            #expect(ContinuousClock.now - begin < .seconds(1))
          }
        }
      }
      let end = ContinuousClock.now
      await transport.shutdown()
      #expect(ContinuousClock.now - end < .seconds(1))
    }
  }
}
