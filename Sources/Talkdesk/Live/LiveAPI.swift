// Lists the queries of Talkdesk's Live API, subscribes to one, and follows its stream.

public import HTTP
import JOSE
import JSON
public import Tokens

/// Talkdesk's Live API: `GET /live-queries`, `POST /live-subscriptions`, and the stream of a subscription.
/// Talkdesk deletes a subscription two minutes after its stream has closed, and in any case after a day.
public struct LiveAPI: Sendable {
  /// The scopes that the access token needs.
  public static let scope = "live-subscriptions:write live-subscriptions:read"
  /// The maximum life of a subscription.
  public static let life = Duration.seconds(86_400)
  private static let timeout = Duration.seconds(20)
  /// The maximum number of pages of queries that are read.
  private static let mostPages = 20

  /// The reason why a request failed.
  public enum Failure: Error, Sendable {
    /// Talkdesk refused the request, with this status and Talkdesk's own error code.
    case refused(status: Int, code: String?)
    /// Talkdesk has no query of this name.
    case unknownQuery
    /// The URL of the stream is not below the API's base URL, so no token is sent there.
    case foreignStream
    /// Talkdesk's API did not respond, failed, or did not respond as documented, or Talkdesk ID issued no
    /// token.
    case unavailable(String)
  }

  /// A query that Talkdesk offers.
  public struct Query: Hashable, Sendable {
    public let id: String
    public let name: String
    /// The names of its parameters.
    public let params: [String]
    /// The names of its filters.
    public let filters: [String]
  }

  private let baseURL: String
  private let transport: any HTTPTransport
  private let bearer = BearerFields()

  /// Creates a client.
  ///
  /// - Parameter baseURL: The API's base, without a slash at its end.
  public init(baseURL: String, transport: any HTTPTransport) {
    self.baseURL = baseURL
    self.transport = transport
  }

  /// The queries that Talkdesk offers: at most 20 pages of 100.
  public func queries(_ token: AccessToken) async throws(Failure) -> [Query] {
    var queries: [Query] = []
    for page in 1...Self.mostPages {
      let reply = try await send(.get, "/live-queries?page=\(page)&per_page=100", [], token)
      guard let found = reply["_embedded"]?["queries"]?.array else {
        throw .unavailable("the list of queries is not as documented")
      }
      queries += found.compactMap(Self.query)
      guard !found.isEmpty, let total = reply["total"]?.int(in: 0...1_000_000), queries.count < total else {
        break
      }
    }
    return queries
  }

  /// Subscribes to a query.
  ///
  /// - Returns: The URL of the stream, which contains a secret.
  public func subscribe(_ settings: LiveSettings, _ token: AccessToken) async throws(Failure) -> String {
    let queries = try await queries(token)
    guard let query = queries.first(where: { $0.name == settings.query || $0.id == settings.query }) else {
      throw .unknownQuery
    }
    var filters = JSONObject()
    if let group = settings.ringGroup { filters["ring_groups"] = .array([.string(group)]) }
    let body: JSONObject = [
      "queries": [
        [
          "id": .string(query.id), "metadata": ["name": .string(query.name)], "params": [:],
          "filters": .object(filters),
        ]
      ]
    ]
    let reply = try await send(.post, "/live-subscriptions", body.serialized(), token)
    guard let link = reply["_links"]?["stream"]?["href"]?.string else {
      throw .unavailable("the subscription has no stream")
    }
    let url = link.utf8.first == 0x2F && !link.utf8.starts(with: "//".utf8) ? baseURL + link : link
    guard url.utf8.starts(with: (baseURL + "/").utf8) else { throw .foreignStream }
    return url
  }

  /// Follows a stream to its end.
  ///
  /// - Parameters:
  ///   - url: As `subscribe` returned it.
  ///   - take: Called with each piece of the stream; false ends it.
  public func follow(
    _ url: String, _ token: AccessToken, take: @escaping @Sendable ([UInt8]) -> Bool
  ) async throws(Failure) {
    let fields: Fields = [
      "Authorization": "Bearer " + token.secret.exposedString(), "Accept": "text/event-stream",
    ]
    var request = OutboundRequest(
      method: .get, url: url, fields: fields, timeout: Self.life, startWithin: Self.timeout,
      maximumContentLength: 64 * 1024, reuse: .never)
    request.onContent = take
    let reply: InboundResponse
    do throws(TransportError) {
      reply = try await transport.send(request)
    } catch {
      // The transport's own text could contain the URL, and with it the secret.
      throw .unavailable(error.head?.codingFault ?? error.reason.words())
    }
    guard reply.status == 200 else { throw Self.failure(reply) }
  }

  private func send(
    _ method: Method, _ path: String, _ content: [UInt8], _ token: AccessToken
  ) async throws(Failure) -> JSONValue {
    let reply: InboundResponse
    do throws(TransportError) {
      reply = try await transport.send(
        OutboundRequest(
          method: method, url: baseURL + path, fields: bearer.fields(for: token), content: content,
          timeout: Self.timeout, maximumContentLength: 1 << 20))
    } catch {
      throw .unavailable("\(error)")
    }
    guard (200...299).contains(reply.status) else { throw Self.failure(reply) }
    do { return try JSONValue(parsing: reply.content) } catch {
      throw .unavailable(reply.codingFault ?? "the response is not JSON")
    }
  }

  private static func query(_ value: JSONValue) -> Query? {
    guard let id = value["id"]?.string, let name = value["name"]?.string else { return nil }
    return Query(
      id: id, name: name, params: value["params"]?.array?.compactMap(\.string) ?? [],
      filters: value["filters"]?.array?.compactMap { $0["name"]?.string } ?? [])
  }

  private static func failure(_ reply: InboundResponse) -> Failure {
    guard (400...499).contains(reply.status) else { return .unavailable("status \(reply.status)") }
    return .refused(status: reply.status, code: CallbackRejection.error(in: reply.content).0)
  }
}

extension LiveAPI.Failure {
  /// A description of the failure, for operators.
  public var words: String {
    switch self {
    case .refused(let status, let code): "Talkdesk refuses: status \(status)\(code.map { ", \($0)" } ?? "")"
    case .unknownQuery: "Talkdesk has no query of this name: see callgate talkdesk queries"
    case .foreignStream: "Talkdesk names a stream at another host, which gets no token"
    case .unavailable(let detail): detail
    }
  }
}
