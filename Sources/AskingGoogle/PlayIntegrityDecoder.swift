// Has Google decode the tokens of Play Integrity.

package import HTTP
import JSON
package import Notices
package import Platform
package import Trust

/// Where Google's API of Play Integrity is, and who this server is there.
package struct PlayIntegritySettings: Sendable, Equatable {
  /// The base of the API.
  package static let usualURL = "https://playintegrity.googleapis.com"

  let access: GoogleAccess
  let url: String

  /// - Parameters:
  ///   - url: Another base of the API, checked by the caller.
  ///   - tokenURL: Another token endpoint than the account's, checked by the caller.
  package init(_ account: ServiceAccount, url: String? = nil, tokenURL: String? = nil) {
    access = GoogleAccess(
      account, tokenURL: tokenURL, scope: "https://www.googleapis.com/auth/playintegrity",
      setting: "attestation.play_integrity")
    self.url = url ?? Self.usualURL
  }
}

/// Decodes tokens, one request for each.
package final class PlayIntegrityDecoder: Sendable {
  /// The settings by which it asks.
  package let settings: PlayIntegritySettings
  /// Google's API.
  package let service: GoogleService

  /// - Parameter log: Gets the cause of each outage once, in words for operators.
  package init(
    _ settings: PlayIntegritySettings, transport: any HTTPTransport, time: any TimeSource,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.settings = settings
    service = GoogleService(
      "Play Integrity", settings.access, transport: transport, time: time, log: log)
  }

  /// Google's verdict on a token of an app.
  package func verdict(
    on token: String, of package: String
  ) async -> Result<PlayIntegrityVerdict, GoogleService.Failure> {
    // A client that leaves cancels its own task. Google's answer still counts: otherwise it would look like an outage.
    await Task { [service, settings] in
      await service.ask(
        "\(settings.url)/v1/\(package):decodeIntegrityToken", ["integrityToken": .string(token)]
      ) { reply in
        // What cannot be read is no verdict.
        reply["tokenPayloadExternal"]?.object.flatMap { try? PlayIntegrityVerdict($0) }
      }
    }.value
  }
}
