// Looks a number up in Talkdesk's phone validation and do-not-call lists.

public import Gate
public import HTTP
import JOSE
import JSON
public import Platform
public import Tokens

/// Talkdesk's phone validation, `GET /identity/phonevalidations/{number}`, and its do-not-call lists,
/// `POST /do-not-call-lists/{id}/entries/queries`. Each needs a token with a different scope.
public struct ScreeningAPI: Sendable {
  /// Transport and tokens for one of the two interfaces.
  public struct Way: Sendable {
    let transport: any HTTPTransport
    let token: @Sendable (_ deadline: MonotonicTime) async throws(TokenError) -> AccessToken
    let refuse: @Sendable (AccessToken) -> Bool

    /// - Parameters:
    ///   - token: Gets a token with the scope.
    ///   - refuse: Discards a token after a 401. Returns whether to try again with another one.
    public init(
      transport: any HTTPTransport,
      token: @escaping @Sendable (_ deadline: MonotonicTime) async throws(TokenError) -> AccessToken,
      refuse: @escaping @Sendable (AccessToken) -> Bool = { _ in false }
    ) {
      self.transport = transport
      self.token = token
      self.refuse = refuse
    }
  }

  /// The reason why a lookup failed, for operators. It never contains the number, which is part of a URL.
  public struct Failure: Error, Sendable { public let words: String }

  private let baseURL: String
  private let way: @Sendable (OwnScope) -> Way
  private let clock: any TimeSource

  /// - Parameter baseURL: The API's base, without a slash at its end.
  public init(baseURL: String, clock: any TimeSource, way: @escaping @Sendable (OwnScope) -> Way) {
    self.baseURL = baseURL
    self.clock = clock
    self.way = way
  }

  /// Sends all configured lookups of a number at once. If one refuses the number, that decides; otherwise, if
  /// one fails, the failure does.
  public func finding(on phone: E164, _ settings: ScreeningSettings, deadline: MonotonicTime) async
    -> ScreeningFinding
  {
    await withTaskGroup(of: ScreeningFinding.self) { group in
      if let refusals = settings.validation {
        group.addTask { await validation(of: phone, refusals, deadline) }
      }
      for list in settings.lists {
        group.addTask { await entries(of: phone, in: list, settings, deadline) }
      }
      var found = ScreeningFinding.allowed(isUnknown: false)
      for await finding in group {
        switch (finding, found) {
        case (.refused, _):
          group.cancelAll()
          return finding
        case (.failed, _), (.allowed(isUnknown: true), .allowed): found = finding
        case (.allowed, _): break
        }
      }
      return found
    }
  }

  private func validation(
    of phone: E164, _ refusals: ScreeningSettings.Refusals, _ deadline: MonotonicTime
  ) async -> ScreeningFinding {
    do throws(Failure) {
      let reply = try await send(.phoneValidation, Self.path(of: phone), nil, deadline)
      if reply.status == 404 { return .allowed(isUnknown: true) }
      return refusals.finding(try Self.content(reply, .phoneValidation))
    } catch {
      return .failed(error.words)
    }
  }

  private func entries(
    of phone: E164, in list: String, _ settings: ScreeningSettings, _ deadline: MonotonicTime
  ) async -> ScreeningFinding {
    let query: JSONObject = [
      "phone_numbers": [["phone_number": .string(phone.text), "timezone": .string(settings.zone.name)]]
    ]
    do throws(Failure) {
      let reply = try await send(
        .doNotCall, "/do-not-call-lists/\(list)/entries/queries", query.serialized(), deadline)
      return settings.finding(
        try Self.content(reply, .doNotCall), of: phone, at: Instant(clock.unixTime))
    } catch {
      return .failed(error.words)
    }
  }

  // MARK: For a check of the configuration

  /// Checks the access to phone validation with a free request: the list of the last day's validations.
  public func checkValidation(_ phone: E164, deadline: MonotonicTime) async throws(Failure) {
    let reply = try await send(.phoneValidation, Self.path(of: phone) + "/stats", nil, deadline)
    if reply.status != 404 { _ = try Self.content(reply, .phoneValidation) }
  }

  /// The ids of the do-not-call lists in Talkdesk's response.
  public func lists(deadline: MonotonicTime) async throws(Failure) -> [String] {
    let reply = try await send(.doNotCall, "/do-not-call-lists", nil, deadline)
    let content = try Self.content(reply, .doNotCall)
    guard let lists = ScreeningReply.embedded(content)?["do_not_call_lists"]?.array else {
      throw Failure(words: "the response is unusable")
    }
    return lists.compactMap { $0["id"]?.string }
  }

  // MARK: Requests

  private static func path(of phone: E164) -> String {
    "/identity/phonevalidations/%2B" + phone.text.dropFirst()
  }

  /// Sends a request. If the API refuses its token, sends it once more with another token.
  private func send(
    _ scope: OwnScope, _ path: String, _ content: [UInt8]?, _ deadline: MonotonicTime
  ) async throws(Failure) -> InboundResponse {
    let way = way(scope)
    var isRepetition = false
    while true {
      let token: AccessToken
      do throws(TokenError) { token = try await way.token(deadline) } catch {
        throw Failure(words: "no token with the scope \(scope.rawValue): \(error)")
      }
      var fields: Fields = [
        "Authorization": "Bearer " + token.secret.exposedString(), "Accept": "application/json",
      ]
      if content != nil { fields.append("Content-Type", "application/json") }
      let left = deadline - clock.now
      guard left > .zero else { throw Failure(words: "it did not respond in time") }
      let reply: InboundResponse
      do throws(TransportError) {
        reply = try await way.transport.send(
          OutboundRequest(
            method: content == nil ? .get : .post, url: baseURL + path, fields: fields,
            content: content ?? [],
            timeout: left, maximumContentLength: 64 * 1024))
      } catch {
        throw Failure(words: "\(scope.interface): \(error.head?.codingFault ?? error.reason.words())")
      }
      guard reply.status == 401, !isRepetition, way.refuse(token) else { return reply }
      isRepetition = true
    }
  }

  private static func content(_ reply: InboundResponse, _ scope: OwnScope) throws(Failure) -> [UInt8] {
    guard (200...299).contains(reply.status) else {
      throw Failure(words: "\(scope.interface): status \(reply.status)")
    }
    if let fault = reply.codingFault { throw Failure(words: "\(scope.interface): \(fault)") }
    return reply.content
  }
}

extension OwnScope {
  /// The interface of a scope, in words for operators.
  public var interface: String {
    switch self {
    case .phoneValidation: "Talkdesk's phone validation"
    case .doNotCall: "Talkdesk's do-not-call lists"
    }
  }
}
