// Calls the admin interface of a running server for the commands of operators.

import Documents
public import HTTP
import JOSE
import JSON
import Store
import Texts
import Upstream

/// Sends operators' requests to a running server.
public struct AdminClient: Sendable {
  /// The reason why there is no result. The texts are for a terminal and contain no token.
  public enum Failure: Error, Sendable, Hashable {
    /// The URL is invalid.
    case invalidURL(String)
    /// The server did not respond, has no admin interface, or cannot do this now.
    case unreachable(String)
    /// The server refuses the token, or something in the request. One line for each reason.
    case refused([String])
    /// The response does not come from an admin interface of Callgate.
    case foreign(String)
  }

  private let destination: AdminDestination
  private let transport: any HTTPTransport

  public init(_ destination: AdminDestination, transport: any HTTPTransport) {
    self.destination = destination
    self.transport = transport
  }

  /// An operator's command to a server.
  public enum Command: Sendable {
    /// `GET /admin/status`.
    case status
    /// `POST /admin/stop`.
    case stop(StopOrder)
    /// `POST /admin/resume`; reason and end are not sent.
    case resume(StopOrder)
    /// `POST /admin/reload`.
    case reload
    /// `GET /admin/installations`: a page, of one state or of all.
    case installations(state: String?, after: String?)
    /// `POST /admin/installations/find`.
    case findInstallation(userCode: String)
    /// `POST /admin/installations/approve`.
    case approveInstallation(userCode: String)
    /// `POST /admin/installations/deny`.
    case denyInstallation(userCode: String)
    /// `POST /admin/installations/revoke`: one installation, or all of a subject.
    case revokeInstallations(InstallationTarget)
    /// `GET /admin/numbers`: a page.
    case blockedNumbers(after: String?)
    /// `POST /admin/numbers/block`.
    case blockNumber(String, reason: String?, until: String?)
    /// `POST /admin/numbers/unblock`.
    case unblockNumber(String)
  }

  /// The installations to revoke.
  public enum InstallationTarget: Sendable {
    case client(String)
    case subject(String)
  }

  /// The states of installations, for help and completions.
  public static let installationStates = InstallationQuery.State.allCases.map(\.rawValue)

  /// The result of a request.
  public struct Reply: Hashable, Sendable {
    /// The text for a terminal of 80 columns.
    public let lines: [String]
    /// The server's document as JSON. For a page of a list: the entries, one per line.
    public let json: String
    /// The position of the next page; nil for the last page.
    public var next: String?
  }

  /// Sends a command's request.
  public func run(_ command: Command) async throws(Failure) -> Reply {
    let document: JSONObject
    let lines: [String]
    switch command {
    case .status:
      document = try await ask(.get, Self.statusPath)
      lines = StatusText.lines(document, at: destination.url)
    case .stop(let order):
      document = try await ask(.post, "/admin/stop", order.document)
      lines = StopText.lines(document) + ["To resume: \(TerminalText.plain(order.resumption))"]
    case .resume(var order):
      (order.reason, order.duration) = (nil, nil)
      document = try await ask(.post, "/admin/resume", order.document)
      lines = StopText.lines(document)
    case .reload:
      document = try await ask(.post, "/admin/reload", [:])
      lines = Self.reloaded(document)
    case .installations(let state, let after):
      return try await page(
        "/admin/installations", "installations", after: after, state.map { "&state=\($0)" } ?? "",
        head: InstallationText.head, InstallationText.lines)
    case .findInstallation(let code):
      document = try await ask(.post, "/admin/installations/find", ["user_code": .string(code)])
      lines = InstallationText.found(.object(document))
    case .approveInstallation(let code):
      document = try await ask(.post, "/admin/installations/approve", ["user_code": .string(code)])
      lines = ["Approved. The app gets its secret when it next polls."]
    case .denyInstallation(let code):
      document = try await ask(.post, "/admin/installations/deny", ["user_code": .string(code)])
      lines = ["Denied. The app gets no secret."]
    case .revokeInstallations(let target):
      let body: JSONObject =
        switch target {
        case .client(let id): ["client_id": .string(id)]
        case .subject(let subject): ["subject": .string(subject)]
        }
      document = try await ask(.post, "/admin/installations/revoke", body)
      lines = ["Revoked. Every instance refuses the secret within 2 seconds."]
    case .blockedNumbers(let after):
      return try await page(
        Self.numbersPath, "numbers", after: after, head: BlockedNumberText.head, BlockedNumberText.lines)
    case .blockNumber(let phone, let reason, let until):
      var body: JSONObject = ["phone": .string(phone)]
      if let reason { body["reason"] = .string(reason) }
      if let until { body["until"] = .string(until) }
      document = try await ask(.post, Self.numbersPath + "/block", body)
      lines = ["Blocked. Every instance refuses calls to this number within 2 seconds."]
    case .unblockNumber(let phone):
      document = try await ask(.post, Self.numbersPath + "/unblock", ["phone": .string(phone)])
      lines = ["The number is not blocked."]
    }
    return Reply(lines: lines, json: Self.text(.object(document)))
  }

  /// The server's attention entries with a code: the cause and the action, as plain text.
  func attention(_ code: String, within timeout: Duration) async throws(Failure) -> [(
    text: String, action: String
  )] {
    let entries = try await ask(.get, Self.statusPath, within: timeout)["attention"]?.array ?? []
    return entries.filter { $0["code"]?.string == code }.map { entry in
      (TerminalText.plain(entry["text"]?.string ?? ""), TerminalText.plain(entry["action"]?.string ?? ""))
    }
  }

  private static func text(_ value: JSONValue) -> String {
    String(decoding: value.serialized(), as: UTF8.self)
  }

  /// A page of a list.
  ///
  /// - Parameters:
  ///   - member: The member of the response with the entries.
  ///   - query: Appended to the path's query.
  private func page(
    _ path: String, _ member: String, after: String?, _ query: String = "", head: String,
    _ lines: (JSONValue) -> [String]
  ) async throws(Failure) -> Reply {
    let document = try await ask(.get, "\(path)?limit=500\(query)" + (after.map { "&after=\($0)" } ?? ""))
    let entries = document[member]?.array ?? []
    return Reply(
      lines: (after == nil ? [head] : []) + entries.flatMap(lines),
      json: entries.map(Self.text).joined(separator: "\n"), next: document["next"]?.string)
  }

  private static func reloaded(_ document: JSONObject) -> [String] {
    let notices = document["notices"]?.array?.compactMap(\.string) ?? []
    let restart = document["restart_needed"]?.array?.compactMap(\.string) ?? []
    return ["The server uses configuration number \(document["generation"]?.number?.text ?? "0") now."]
      + notices.map { "notice: \($0)" }
      + (restart.isEmpty ? [] : ["Restart the server to apply the new \(restart.joined(separator: ", "))."])
  }

  // MARK: Requests

  private static let statusPath = "/admin/status"
  private static let numbersPath = "/admin/numbers"

  /// - Parameter timeout: The default allows for a reload, which opens files and may fetch the keys of
  ///   issuers.
  private func ask(
    _ method: Method, _ path: String, _ content: JSONObject? = nil, within timeout: Duration = .seconds(30)
  ) async throws(Failure) -> JSONObject {
    var fields: Fields = ["Accept": "application/json", "User-Agent": "callgate"]
    if let token = destination.token { fields["Authorization"] = "Bearer \(token.exposedString())" }
    if content != nil { fields["Content-Type"] = "application/json" }
    let response: InboundResponse
    do throws(TransportError) {
      response = try await transport.send(
        OutboundRequest(
          method: method, url: destination.url + path, fields: fields,
          content: content.map { JSONValue.object($0).serialized() } ?? [],
          timeout: timeout, maximumContentLength: 4 << 20, reuse: .never))
    } catch {
      if error.reason == .invalidURL { throw .invalidURL(error.detail) }
      throw .unreachable(
        "no response from \(destination.url): \(error.words(about: "the server"))"
          + (destination.doubt.map { "; \($0)" } ?? ""))
    }
    let hasInterface = response.status == 404 && path != Self.statusPath
    // The server may have no such installation, or no admin interface. The status endpoint shows which.
    if hasInterface { _ = try await ask(.get, Self.statusPath) }
    return try read(response, hasInterface: hasInterface)
  }

  /// - Parameter hasInterface: Whether the server is known to have an admin interface.
  private func read(_ response: InboundResponse, hasInterface: Bool) throws(Failure) -> JSONObject {
    if response.status == 204 { return [:] }
    let document: JSONObject?
    do { document = try JSONValue(parsing: response.content).object } catch {
      document = nil  // Another server's page. The status decides what to report.
    }
    let isProblem =
      response.fields["Content-Type"]?.lowercased().hasPrefix("application/problem+json") == true
    guard response.status != 200 || isProblem else {
      guard let document else {
        throw .foreign("\(destination.url) responds with something other than JSON; check --url")
      }
      return document
    }
    guard isProblem, let document, let code = document["code"]?.string else {
      throw .foreign(
        "\(destination.url) responds with status \(response.status) and is not a Callgate admin listener; check --url"
      )
    }
    throw failure(code, response.status, document, hasInterface: hasInterface)
  }

  private func failure(
    _ code: String, _ status: Int, _ document: JSONObject, hasInterface: Bool
  ) -> Failure {
    let detail = TerminalText.plain(document["detail"]?.string ?? document["title"]?.string ?? code)
    let fields = (document["fields"]?.array ?? []).compactMap { field -> String? in
      guard let name = field["name"]?.string, let text = field["description"]?.string else { return nil }
      return "\(TerminalText.plain(name)): \(TerminalText.plain(text))"
    }
    let first = "the server refuses this (\(TerminalText.plain(code))): \(detail)"
    switch status {
    case 401 where destination.token == nil:
      // Plain HTTP goes to this machine only, where a sandbox may run.
      let sandbox = "A sandbox returns its token at \(destination.url)/_sandbox/operator"
      return .refused(
        [
          "\(destination.url) needs a token: set \(AdminDestination.tokenVariable) or CALLGATE_ADMIN_TOKEN, or give "
            + AdminDestination.tokenFlag
        ] + (destination.url.hasPrefix("http:") ? [sandbox] : []))
    case 404 where !hasInterface:
      return .unreachable(
        "there is no admin interface at \(destination.url), because the server's configuration has no admin: for it. Give the "
          + "address of the admin listener with --url, or set admin.port or admin.token_file on the server")
    case 500...: return .unreachable("\(destination.url) cannot do this now (\(code)): \(detail)")
    // If the detail repeats the first field, the fields are enough.
    default:
      return .refused(
        fields.first.map(detail.hasPrefix) == true ? fields : [first] + fields.map { "  \($0)" })
    }
  }
}

/// The request of `callgate pause` and `callgate resume`.
public struct StopOrder: Sendable {
  /// The scope of the stop: `all`, `app` or `caller`.
  public var scope: String
  /// The id of the app or caller; nil with the scope `all`.
  public var id: String?
  /// The stopped action: one of `actions`.
  public var action: String
  /// The reason, for operators.
  public var reason: String?
  /// The time after which the stop ends automatically, as in the configuration: `30m`. Nil if it lasts until
  /// it is resumed.
  public var duration: String?
  /// The options that named the server, for the command that resumes there.
  public var server: [String] = []

  public init(scope: String, id: String?, action: String, reason: String? = nil, duration: String? = nil) {
    self.scope = scope
    self.id = id
    self.action = action
    self.reason = reason
    self.duration = duration
  }

  /// The mistake in the reason or the duration, with its flag; nil without one.
  public var mistake: String? {
    if let reason, !Stop.isReason(reason) {
      return "--reason: give one line of text with at most \(Stop.longestReason) characters"
    }
    guard let duration else { return nil }
    do throws(Refusal) {
      _ = try TextForm.duration(Stop.durations).read(duration)
      return nil
    } catch {
      return "--for: \(error.message) — \(error.remedy)"
    }
  }

  /// The scopes, for help and completions.
  public static let scopes = ["all", "app", "caller"]
  /// The actions, for help and completions.
  public static let actions = Stop.Action.names

  /// The words for actions in pages and texts, each with the action's name in the API.
  public static let words: [(word: String, action: String)] = [
    ("tokens", "access"), ("callbacks", "callback"), ("tickets", "ticket"), ("enrollments", "enrol"),
  ]

  /// The API's name for an action. An unknown word stays unchanged.
  public static func action(named name: String) -> String {
    words.first { $0.word.hasSameBytes(as: name) }?.action ?? name
  }

  /// The command that ends this stop.
  var resumption: String {
    var words = ["callgate resume"] + server.map(NewKey.shellWord)
    if let id { words.append("--scope \(scope) --id \(NewKey.shellWord(id))") }
    if !action.hasSameBytes(as: "all") { words.append("--action \(action)") }
    return words.joined(separator: " ")
  }

  var document: JSONObject {
    var document: JSONObject = ["scope": .string(scope), "action": .string(action)]
    if let id { document["id"] = .string(id) }
    if let reason { document["reason"] = .string(reason) }
    if let duration { document["for"] = .string(duration) }
    return document
  }
}
