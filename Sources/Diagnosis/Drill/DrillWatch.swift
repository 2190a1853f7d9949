// Listens for the events of a test call, to learn which triggers an account fires:
// `callgate test-call --watch`.

public import Configuration
import Gate
import HTTP
import HTTPServer
import JOSE
import JSON
import Outcomes
import Platform
import Store
import Synchronization
import TLS
import Talkdesk
import Tokens
import Upstream

/// Registers a configuration's triggers for a temporary webhook, listens on the server's address, and removes
/// the triggers at the end.
public final class DrillWatch: Sendable {
  /// The reason why the watch cannot start. Then no call was made, and triggers that were already registered
  /// are removed if possible.
  public enum Obstacle: Error, Sendable {
    /// The configuration has no URL for the webhook, or no Talkdesk credential.
    case notConfigured(String)
    /// The port is taken, Talkdesk or the network does not respond, or OpenSSL fails.
    case unavailable(String)
    /// Talkdesk refuses the credential or a trigger.
    case refused(String)
  }

  /// The longest accepted body, in bytes.
  private static let mostBytes = 16 * 1024

  private let settings: OutcomeSettings
  private let hook: HookSecret
  private let server: Server
  private let loops: EventLoopGroup
  private let api: TriggerAPI
  private let transport: CurlTransport
  private let token: AccessToken
  private let listener: Listening
  private let registered = Mutex<[(name: String, id: String)]>([])

  /// Listens and registers the triggers.
  ///
  /// - Parameters:
  ///   - configuration: A configuration that was loaded for checking.
  ///   - report: Gets a line for each trigger and each event. Numbers in it are masked.
  public static func begin(
    _ configuration: Configuration, report: @escaping @Sendable (String) -> Void
  ) async throws(Obstacle) -> DrillWatch {
    guard let settings = configuration.outcomes, let url = settings.externalURL else {
      throw .notConfigured(
        "outcomes.external_url is not set: the URL under which Talkdesk reaches this server")
    }
    let hook: HookSecret
    do throws(OpenSSLError) { hook = HookSecret(Secret(try RandomBytes.make(HookSecret.leastBytes))) } catch {
      throw .unavailable("OpenSSL could not generate random bytes")
    }
    let listening = Listening(path: hook.exposedPath()) { content in
      Self.lines(content, settings, hook).forEach(report)
    }
    let (server, loops) = try listen(configuration, listening)
    let opened: Result<(TriggerAPI, CurlTransport, AccessToken), Obstacle>
    do throws(TriggerWork.Failure) {
      let (upstream, transport, token) = try await TriggerWork.open(configuration, scope: TriggerAPI.scope)
      opened = .success(
        (TriggerAPI(baseURL: settings.url ?? upstream.apiURL, transport: transport), transport, token))
    } catch {
      opened = .failure(Obstacle(error))
    }
    let (api, transport, token): (TriggerAPI, CurlTransport, AccessToken)
    do throws(Obstacle) { (api, transport, token) = try opened.get() } catch {
      await server.shutdown(within: .seconds(1))
      loops.shutdown()
      throw error
    }
    let watch = DrillWatch(settings, hook, server, loops, api, transport, token, listening)
    do throws(Obstacle) {
      try await watch.register(at: url, report)
    } catch {
      await watch.end(report)
      throw error
    }
    return watch
  }

  private init(
    _ settings: OutcomeSettings, _ hook: HookSecret, _ server: Server, _ loops: EventLoopGroup,
    _ api: TriggerAPI, _ transport: CurlTransport, _ token: AccessToken, _ listener: Listening
  ) {
    self.settings = settings
    self.hook = hook
    self.server = server
    self.loops = loops
    self.api = api
    self.transport = transport
    self.token = token
    self.listener = listener
  }

  /// Listens on the server's address, so that its proxy and its firewall are tested too.
  private static func listen(
    _ configuration: Configuration, _ handler: Listening
  ) throws(Obstacle) -> (Server, EventLoopGroup) {
    let place = configuration.listen
    guard let address = SocketAddress(host: place.host, port: place.port) else {
      preconditionFailure("a configured host that is not an address")
    }
    var filter: Server.Filter?
    do {
      if let identity = place.tls?.identity {
        let tls = try TLSListener(identity, time: SystemClock())
        filter = { _ in tls.session() }
      }
      let loops = try EventLoopGroup(count: 1)
      let server = Server(
        .address(address, sharesPort: place.sharePort),
        limits: ServerLimits(connections: 100, contentBytes: mostBytes), loops: loops, handler: handler,
        filter: filter)
      do throws(SystemError) { _ = try server.start() } catch {
        loops.shutdown()
        throw error
      }
      return (server, loops)
    } catch {
      throw .unavailable(
        "cannot listen on \(place.host):\(place.port): \(error). Stop the server there first: the test call uses its port"
      )
    }
  }

  private func register(at url: String, _ report: @Sendable (String) -> Void) async throws(Obstacle) {
    for trigger in settings.triggers {
      do throws(TriggerAPI.Failure) {
        let id = try await api.add(
          trigger.rawValue, url: url + hook.exposedPath(), title: "Callgate drill",
          message: HookTemplate.exposedText(of: trigger, hook), token: token)
        registered.withLock { $0.append((trigger.rawValue, id)) }
        report("trigger   \(trigger.rawValue) \(id) registered")
      } catch {
        switch error {
        case .refused(let status, let code):
          throw .refused(
            "Talkdesk refuses \(trigger.rawValue): status \(status)\(code.map { ", \($0)" } ?? "")")
        case .noID:
          throw .unavailable("Talkdesk registered \(trigger.rawValue) and named no id: remove it at Talkdesk")
        case .unavailable(let detail): throw .unavailable("Talkdesk: \(detail)")
        }
      }
    }
  }

  /// The first events, at most 100, with masked numbers, for the facts file.
  public var events: [UInt8] { JSONValue.array(listener.bodies.map(Self.shown)).serialized() }

  /// Removes the triggers and stops listening. Reports each trigger that cannot be removed.
  public func end(_ report: @Sendable (String) -> Void) async {
    for (name, id) in registered.withLock({ $0 }) {
      do throws(TriggerAPI.Failure) {
        try await api.remove(name, id: id, token: token)
        report("trigger   \(name) \(id) removed")
      } catch {
        report("trigger   \(name) \(id) could not be removed: remove it at Talkdesk")
      }
    }
    registered.withLock { $0 = [] }
    await server.shutdown(within: .seconds(1))
    loops.shutdown()
    await transport.shutdown()
  }

  // MARK: Output

  /// The lines about an event: its content, and the outcome that the server would record.
  private static func lines(_ content: [UInt8], _ settings: OutcomeSettings, _ hook: HookSecret) -> [String] {
    let event = CallEvent(parsing: content).flatMap { $0.hasToken(of: hook) ? $0 : nil }
    let call = event?.ended(by: settings, at: Instant(SystemClock().unixTime))
    let outcome =
      call.map { call in
        call.outcome.state.rawValue + (call.outcome.talkSeconds.map { ", \($0) s" } ?? "")
      } ?? "no outcome"
    return [
      "event     \(String(decoding: shown(content).serialized(), as: UTF8.self))", "          \(outcome)",
    ]
  }

  /// A body without its token and with masked numbers. If it is not a JSON object, only its length: it may
  /// contain the token.
  private static func shown(_ content: [UInt8]) -> JSONValue {
    let object: JSONObject?
    do { object = try JSONValue(parsing: content).object } catch { object = nil }
    guard let object else {
      return .string("no JSON object, \(content.count) octets")
    }
    var shown = JSONObject()
    for (name, value) in object.members where name != "token" {
      shown.append(name, masked(name, value))
    }
    return .object(shown)
  }

  private static func masked(_ name: String, _ value: JSONValue) -> JSONValue {
    // Times and ids have many digits too, and the test call is meant to show them.
    let isPlain = ["time", "stamp", "duration", "_id", "event", "trigger", "type"].contains {
      name.hasSuffix($0)
    }
    guard case .string(let text) = value else {
      return isPlain && value.object == nil && value.array == nil
        ? value : .string(String(decoding: value.serialized(), as: UTF8.self).hidingPhoneNumbers)
    }
    return .string(isPlain ? text : text.hidingPhoneNumbers)
  }
}

extension DrillWatch.Obstacle {
  fileprivate init(_ failure: TriggerWork.Failure) {
    self =
      switch failure {
      case .notConfigured(let detail): .notConfigured(detail)
      case .refused(let detail): .refused(detail)
      case .unavailable(let detail): .unavailable(detail)
      case .interrupted: .unavailable("the work on triggers was interrupted")
      }
  }
}

/// Receives the events at the webhook, and saves their first 100 bodies.
private final class Listening: RequestHandler {
  private let path: [UInt8]
  private let onEvent: @Sendable ([UInt8]) -> Void
  private let kept = Mutex<[[UInt8]]>([])
  /// The maximum number of saved bodies.
  private static let most = 100

  init(path: String, onEvent: @escaping @Sendable ([UInt8]) -> Void) {
    self.path = Array(path.utf8)
    self.onEvent = onEvent
  }

  var bodies: [[UInt8]] { kept.withLock { $0 } }

  func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    let isHook = request.method == .post && Array(request.string(request.path).utf8) == path
    guard isHook else { return exchange.respond(Response(status: .notFound)) }
    let content = Array(request.content)
    kept.withLock { if $0.count < Self.most { $0.append(content) } }
    onEvent(content)
    exchange.respond(Response(status: .noContent))
  }

  func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    Response(status: failure == .contentTooLarge ? .contentTooLarge : .badRequest)
  }
}
