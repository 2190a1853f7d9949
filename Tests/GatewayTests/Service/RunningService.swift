// Runs a complete gateway on loopback with an emulated Talkdesk, and saves its output for a test.

import Appointments
import HTTP
import HTTPServer
import Installations
import JOSE
import JSON
import Platform
import Sandbox
import Store
import Synchronization
import TestSupport
import Testing
import Upstream

@testable import Configuration
@testable import Delivery
@testable import Gateway
@testable import PushDelivery
@testable import Serving

/// A complete gateway on loopback sockets, with an emulated Talkdesk behind it. Its output is saved.
final class RunningService: Sendable {
  /// The output written to stdout.
  final class Output: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    func write(_ more: [UInt8]) -> Bool {
      bytes.withLock { $0 += more }
      return true
    }

    /// Every line, parsed.
    func lines() throws -> [JSONValue] {
      try bytes.withLock { $0 }.split(separator: UInt8(ascii: "\n")).map { try JSONValue(parsing: Array($0)) }
    }
  }

  let talkdesk: LocalTalkdesk
  /// The clock that decides when the emulator's delayed responses arrive.
  let delays: ReleasableTime
  let baseURL: String
  private let service: Service
  private let loops: EventLoopGroup
  private let transport: CurlTransport
  private let output: Output
  private let yaml: Yaml

  /// The YAML file, which may be changed while the service runs.
  private final class Yaml: Sendable {
    let text: Mutex<String?>
    /// Environment variables that have changed.
    let variables = Mutex<[String: String]>([:])
    init(_ text: String?) { self.text = Mutex(text) }
  }

  convenience init(environment: [String: String] = [:], yaml: String? = nil) throws {
    try self.init(Made(environment, yaml))
  }

  /// Creates the store's schema first, which a store in a file needs.
  convenience init(preparing environment: [String: String], yaml: String? = nil) async throws {
    let parts = try Made(environment, yaml)
    try await parts.service.prepare()
    try self.init(parts)
  }

  /// The parts that are made before anything listens.
  private struct Made {
    let talkdesk: LocalTalkdesk
    let delays = ReleasableTime()
    let yaml: Yaml
    let loops: EventLoopGroup
    let output = Output()
    let service: Service

    init(_ environment: [String: String], _ text: String?) throws {
      talkdesk = try LocalTalkdesk.start(time: delays)
      var environment = environment.merging([
        "HOST": "127.0.0.1", "PORT": "0", "CALLGATE_STATE": "memory",
      ]) { mine, _ in mine }
      for (name, value) in talkdesk.variables where environment[name] == nil {
        environment[name] = value.exposedString()
      }
      let written = Yaml(text)
      yaml = written
      let load = { @Sendable [environment] () throws(ConfigurationErrors) -> LoadedConfiguration in
        var environment = environment
        environment["CALLGATE_CONFIG_TEXT"] = written.text.withLock { $0 }
        environment.merge(written.variables.withLock { $0 }) { $1 }
        let sources = ConfigurationSources(environment: environment, files: .system)
        return try ConfigurationLoader.load(sources, for: .serve)
      }
      loops = try EventLoopGroup(count: 2)
      service = try Service(
        configuration: try load().configuration, loops: loops, descriptorLimit: 1024, reload: load,
        write: { [output] in output.write($0) ? $0.count : 0 })
    }
  }

  private init(_ parts: Made) throws {
    talkdesk = parts.talkdesk
    delays = parts.delays
    yaml = parts.yaml
    loops = parts.loops
    output = parts.output
    service = parts.service
    baseURL = "http://\(try service.start().clients[0])"
    service.startLog()
    transport = try CurlTransport()
  }

  /// Replaces the YAML file. The next reload reads it.
  func rewrite(_ text: String) { yaml.text.withLock { $0 = text } }

  /// Sets another Talkdesk in the environment. The next reload reads it.
  func move(to other: LocalTalkdesk) {
    yaml.variables.withLock { variables in
      for (name, value) in other.variables { variables[name] = value.exposedString() }
    }
  }

  /// Reloads the service.
  func reload() async -> Bool { await service.reload(because: "a test") }

  /// Waits until a line has been written, and returns it.
  func line(_ message: String) async throws -> JSONValue {
    var found: JSONValue?
    try await eventually {
      found = try output.lines().first { $0["message"]?.string == message }
      return found != nil
    }
    return try #require(found)
  }

  /// Sends a request to a given URL of the gateway.
  func ask(_ method: Method, at url: String, _ fields: Fields = [:], content: [UInt8] = []) async throws
    -> InboundResponse
  {
    try await transport.send(
      OutboundRequest(method: method, url: url, fields: fields, content: content, timeout: .seconds(20)))
  }

  /// Sends a request to the gateway's public listener.
  @discardableResult
  func ask(
    _ method: Method, _ path: String, _ fields: Fields = [:], content: [UInt8] = [],
    timeout: Duration = .seconds(20)
  ) async throws -> InboundResponse {
    try await transport.send(
      OutboundRequest(
        method: method, url: baseURL + path, fields: fields, content: content, timeout: timeout,
        // Large enough for the API reference.
        maximumContentLength: 1 << 20))
  }

  /// How many callbacks are being sent, and how many wait for that.
  var load: (running: Int, waiting: Int) { service.runtime.callbacks.queue.load }

  /// How many clients are connected, and how many requests wait for their answers.
  var connections: (open: Int, waiting: Int) { service.connections }

  /// How many requests wait for a record to change.
  var waitingForChanges: Int { service.runtime.appointments.watch.count }

  /// The names of the service's parts, in order.
  var parts: [String] { service.parts.names }

  /// Health of the store and its clock.
  var storeHealth: StoreHealth { service.runtime.storeHealth }
  /// The notifications about callbacks, and their records.
  var notices: (any CallbackNoticeStore)? { service.runtime.push?.notices.store }
  var records: any AppointmentStore { service.runtime.callbacks.store.base }
  /// Finds installations.
  var directory: InstallationDirectory? { service.runtime.installations?.directory }
  /// The tokens that wait to be claimed.
  var claims: (any NoticeStore)? { service.runtime.push?.book.store }

  /// Whether installations have been counted.
  var hasCountedInstallations: Bool { service.runtime.installations?.counts.latest != nil }

  /// The lines written so far.
  func lines() throws -> [JSONValue] { try output.lines() }

  /// Sends a request to the emulator.
  @discardableResult
  func tellTalkdesk(_ method: Method, _ path: String, _ content: JSONValue = .null) async throws -> JSONValue
  {
    let response = try await transport.send(
      OutboundRequest(
        method: method, url: talkdesk.server.baseURL + path,
        content: method == .post ? content.serialized() : [], timeout: .seconds(20)))
    return response.content.isEmpty ? .null : try JSONValue(parsing: response.content)
  }

  /// Ends the service as SIGTERM does.
  func drain() async { await service.drain() }

  /// Ends everything and returns every line that was written.
  func end() async throws -> [JSONValue] {
    await transport.shutdown()
    await service.drain()
    await talkdesk.server.stop()
    loops.shutdown()
    return try output.lines()
  }
}
