// Registers webhook triggers with Talkdesk, and removes them.

public import HTTP
import JSON
public import Tokens

/// Talkdesk's webhook triggers: `POST /webhooks/triggers/{name}`, and `DELETE
/// /webhooks/triggers/{name}/{id}`. Talkdesk documents neither the response of a success nor a list of them.
public struct TriggerAPI: Sendable {
  /// The scope that the access token needs.
  public static let scope = "webhooks-trigger:write"
  private static let timeout = Duration.seconds(20)

  /// The reason why a trigger was not registered or removed.
  public enum Failure: Error, Sendable {
    /// Talkdesk refused the request, with this status and Talkdesk's own error code.
    case refused(status: Int, code: String?)
    /// Talkdesk registered the trigger but returned no id.
    case noID
    /// Talkdesk did not respond, or failed.
    case unavailable(String)
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

  /// Registers a trigger.
  ///
  /// - Returns: The id of the registration.
  public func add(
    _ name: String, url: String, title: String, message: String, token: AccessToken
  ) async throws(Failure) -> String {
    let body: JSONObject = [
      "callbackurl": .string(url), "title": .string(title), "message": .string(message),
    ]
    let reply = try await send(.post, "/webhooks/triggers/\(name)", body.serialized(), token)
    guard (200...299).contains(reply.status) else { throw Self.failure(reply) }
    let value = try? JSONValue(parsing: reply.content)
    let located = reply.fields["Location"].flatMap { $0.utf8.split(separator: 0x2F).last }.flatMap {
      String($0)
    }
    // If the body is not JSON or has no id, `Location` may contain the id.
    guard let id = value?["id"]?.string ?? located, Self.isID(id) else { throw .noID }
    return id
  }

  /// Removes a registration. If Talkdesk does not know the registration (404), it counts as removed.
  public func remove(_ name: String, id: String, token: AccessToken) async throws(Failure) {
    let reply = try await send(.delete, "/webhooks/triggers/\(name)/\(id)", [], token)
    guard (200...299).contains(reply.status) || reply.status == 404 else { throw Self.failure(reply) }
  }

  private func send(
    _ method: Method, _ path: String, _ content: [UInt8], _ token: AccessToken
  ) async throws(Failure) -> InboundResponse {
    do throws(TransportError) {
      return try await transport.send(
        OutboundRequest(
          method: method, url: baseURL + path, fields: bearer.fields(for: token), content: content,
          timeout: Self.timeout, maximumContentLength: 64 * 1024))
    } catch {
      throw .unavailable("\(error)")
    }
  }

  private static func failure(_ reply: InboundResponse) -> Failure {
    guard (400...499).contains(reply.status) else { return .unavailable("status \(reply.status)") }
    return .refused(status: reply.status, code: CallbackRejection.error(in: reply.content).0)
  }

  /// Whether an id is safe in a path: 1 to 128 letters, digits, hyphens and underscores.
  private static func isID(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { octet in
        switch octet {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
      }
  }
}
