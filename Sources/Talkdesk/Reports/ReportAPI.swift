// Downloads the calls report from Talkdesk: starts a job, waits for its end, and reads the file.

public import HTTP
import JOSE
import JSON
public import Platform
public import Tokens

/// Talkdesk's reports of calls: `POST /data/reports/calls/jobs`, then `GET …/jobs/{id}` until the job is
/// done, then `GET …/files/{id}`.
///
/// A job ends with the status `done`, or with a 303 to its file at the API. The request for the file has the
/// token. The file may redirect to object storage with another 303. The server follows that redirect once,
/// without the token, and only to the API's own origin or to an `https` host below `amazonaws.com`.
public struct ReportAPI: Sendable {
  /// The scopes that the access token needs.
  public static let scope = "data-reports:write data-reports:read"
  private static let base = "/data/reports/calls/"
  private static let timeout = Duration.seconds(20)
  /// The timeout of a file. It is long, because a slow reader delays the download.
  private static let fileTimeout = Duration.seconds(1800)
  /// The interval of queries for a job's status, and the time after which the job is given up.
  private static let interval = Duration.seconds(10)
  private static let patience = Duration.seconds(1800)

  /// The reason why there is no report.
  public enum Failure: Error, Sendable {
    /// Talkdesk refused the request, with this status and Talkdesk's own error code.
    case refused(status: Int, code: String?)
    /// The job failed at Talkdesk, or was canceled or deleted there.
    case failed(String)
    /// A redirect has no `Location`, or leads to a host that the server does not send requests to.
    case foreignHost
    /// Talkdesk did not respond, failed, or did not respond as documented. Also if the job took too long, if
    /// there is no token, and if the task was canceled.
    case unavailable(String)
  }

  private let baseURL: String
  private let transport: any HTTPTransport
  private let clock: any TimeSource
  private let token: @Sendable () async throws(Failure) -> AccessToken

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - baseURL: The API's base, without a slash at its end.
  ///   - token: Returns a token that is still valid for a while.
  public init(
    baseURL: String, transport: any HTTPTransport, clock: any TimeSource,
    token: @escaping @Sendable () async throws(Failure) -> AccessToken
  ) {
    self.baseURL = baseURL
    self.transport = transport
    self.clock = clock
    self.token = token
  }

  /// Downloads the report of the calls that ended in a span of time, and passes its bytes on as they arrive.
  ///
  /// - Parameters:
  ///   - from: The beginning, RFC 3339.
  ///   - to: The end, RFC 3339.
  ///   - hold: Pauses the download for a slower reader.
  ///   - take: Called with the next bytes; false ends the download.
  public func report(
    from: String, to: String, hold: ContentHold? = nil, take: @escaping @Sendable ([UInt8]) -> Bool
  ) async throws(Failure) {
    let body: JSONObject = [
      "name": "callgate outcomes", "timezone": "UTC", "format": "json",
      "timespan": ["from": .string(from), "to": .string(to)],
    ]
    let made = try await send(.post, baseURL + Self.base + "jobs", body.serialized())
    guard (200...299).contains(made.status) else { throw Self.failure(made) }
    let answer = Self.value(made)
    guard let id = (answer?["id"] ?? answer?["job"]?["id"])?.string, Self.isID(id) else {
      throw .unavailable(made.codingFault ?? "the job has no id")
    }
    try await file(try await end(of: id), Content(take: take, hold: hold))
  }

  /// Waits for the end of a job.
  ///
  /// - Returns: The URL of its file, at the API.
  private func end(of id: String) async throws(Failure) -> String {
    let last = clock.now + Self.patience
    while true {
      let reply = try await send(.get, baseURL + Self.base + "jobs/" + id)
      if reply.status == 303 {
        guard let place = place(reply), isOfAPI(place) else { throw .foreignHost }
        return place
      }
      guard reply.status == 200 else { throw Self.failure(reply) }
      if let fault = reply.codingFault { throw .unavailable(fault) }
      let answer = Self.value(reply)
      switch (answer?["job"]?["status"] ?? answer?["status"])?.string {
      case "done": return baseURL + Self.base + "files/" + id
      case "failed", "canceled", "deleted": throw .failed("the job failed at Talkdesk")
      default: break
      }
      guard clock.now < last else { throw .unavailable("the job did not end in time") }
      guard await clock.hasSlept(until: clock.now + Self.interval) else { throw .unavailable("cancelled") }
    }
  }

  /// The destination of a file's bytes.
  private struct Content {
    let take: @Sendable ([UInt8]) -> Bool
    let hold: ContentHold?
  }

  private func file(_ url: String, _ content: Content) async throws(Failure) {
    let reply = try await send(.get, url, into: content)
    if reply.status == 200 { return }
    guard reply.status == 303 else { throw Self.failure(reply) }
    guard let place = place(reply), isOfAPI(place) || Self.isOfStore(place) else { throw .foreignHost }
    let stored = try await send(.get, place, isOpen: true, into: content)
    guard stored.status == 200 else { throw Self.failure(stored) }
  }

  // MARK: Requests

  /// - Parameter isOpen: Whether the request is sent without the token.
  private func send(
    _ method: Method, _ url: String, _ content: [UInt8] = [], isOpen: Bool = false,
    into file: Content? = nil
  ) async throws(Failure) -> InboundResponse {
    var fields: Fields = ["Accept": "application/json"]
    if !isOpen { fields.append("Authorization", "Bearer " + (try await token()).secret.exposedString()) }
    if method == .post { fields.append("Content-Type", "application/json") }
    var request = OutboundRequest(
      method: method, url: url, fields: fields, content: content,
      timeout: file == nil ? Self.timeout : Self.fileTimeout, maximumContentLength: 64 * 1024)
    request.onContent = file?.take
    request.hold = file?.hold
    do throws(TransportError) {
      return try await transport.send(request)
    } catch {
      // The transport's own text could contain the URL, whose query may be a credential.
      throw .unavailable(error.head?.codingFault ?? error.reason.words())
    }
  }

  // MARK: Redirects

  private func place(_ reply: InboundResponse) -> String? {
    guard let location = reply.fields["Location"] else { return nil }
    return location.utf8.first == 0x2F && !location.utf8.starts(with: "//".utf8)
      ? baseURL + location : location
  }

  private func isOfAPI(_ url: String) -> Bool { url.utf8.starts(with: (baseURL + "/").utf8) }

  /// Whether a URL is `https` at a host below `amazonaws.com`, at the usual port and without user
  /// information.
  package static func isOfStore(_ url: String) -> Bool {
    let scheme = "https://"
    guard url.utf8.starts(with: scheme.utf8) else { return false }
    let authority = url.utf8.dropFirst(scheme.utf8.count).prefix { ![0x2F, 0x3F, 0x23, 0x5C].contains($0) }
    let host = authority.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    let ending = Array(".amazonaws.com".utf8)
    return host.count > ending.count && host.suffix(ending.count) == ending[...]
      && host.allSatisfy { octet in
        (0x30...0x39).contains(octet) || (0x61...0x7A).contains(octet) || octet == 0x2D || octet == 0x2E
      }
  }

  /// Whether an id is safe in a path: 1 to 128 letters, digits, hyphens and underscores.
  private static func isID(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { octet in
        (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
          || octet == 0x2D || octet == 0x5F
      }
  }

  private static func value(_ reply: InboundResponse) -> JSONValue? {
    do { return try JSONValue(parsing: reply.content) } catch { return nil }
  }

  private static func failure(_ reply: InboundResponse) -> Failure {
    guard (400...499).contains(reply.status) else { return .unavailable("status \(reply.status)") }
    return .refused(status: reply.status, code: CallbackRejection.error(in: reply.content).0)
  }
}

extension ReportAPI.Failure {
  /// A description of the failure, for operators.
  public var words: String {
    switch self {
    case .refused(let status, let code): "Talkdesk refuses: status \(status)\(code.map { ", \($0)" } ?? "")"
    case .failed(let detail), .unavailable(let detail): detail
    case .foreignHost: "a redirect leads to a host that gets nothing"
    }
  }
}
