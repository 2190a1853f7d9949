// Fetches one token for a command, with the server's client and settings but without a server.

public import Configuration
import JOSE
import Platform
import Talkdesk
import Tokens
import Upstream

/// Fetches one token for a command, without cache and server.
public enum TokenFetch {
  /// The reason why no token was fetched.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// Whether Talkdesk ID refused the credential.
    public let isRefusal: Bool
    /// The reason, for the operator.
    public let description: String
  }

  /// Requests a token with the configured scope from Talkdesk ID.
  public static func token(_ configuration: Configuration) async -> Result<String, Failure> {
    guard let upstream = configuration.talkdesk.upstream else {
      preconditionFailure("a configuration for fetching a token without an upstream")
    }
    let clock = SystemClock()
    let transport: CurlTransport
    let client: TalkdeskID
    do {
      transport = try CurlTransport(TransportSettings(authorities: configuration.authorities))
      client = try TalkdeskID(upstream, transport: transport, clock: clock)
    } catch {
      return .failure(Failure(isRefusal: false, description: "the HTTP client cannot be created: \(error)"))
    }
    let result: Result<String, Failure>
    do throws(TokenExchangeError) {
      let token = try await client.exchange(
        scope: configuration.talkdesk.scope, deadline: clock.now + configuration.tokens.deadline)
      result = .success(token.secret.exposedString())
    } catch {
      var isRefusal = false
      if case .refused = error { isRefusal = true }
      result = .failure(Failure(isRefusal: isRefusal, description: "\(error)"))
    }
    await transport.shutdown()
    return result
  }
}
