// Sends Play Integrity tokens to Google, which decodes them.

package import HTTP
import JSON
package import Notices
package import Platform
package import Trust

/// The URL of Google's Play Integrity API, and the service account to use there.
package struct PlayIntegritySettings: Sendable, Equatable {
  /// The usual base URL of the API.
  package static let usualURL = "https://playintegrity.googleapis.com"

  let access: GoogleAccess
  let url: String

  /// - Parameters:
  ///   - url: Another base URL of the API, checked by the caller.
  ///   - tokenURL: Another token endpoint than the account's, checked by the caller.
  package init(_ account: ServiceAccount, url: String? = nil, tokenURL: String? = nil) {
    access = GoogleAccess(
      account, tokenURL: tokenURL, scope: "https://www.googleapis.com/auth/playintegrity",
      setting: "attestation.play_integrity")
    self.url = url ?? Self.usualURL
  }
}

/// Decodes tokens with one request each, which is retried only after a 401.
package final class PlayIntegrityDecoder: Sendable {
  package let settings: PlayIntegritySettings
  /// Google's Play Integrity API.
  package let service: GoogleService

  /// - Parameter log: Called when an outage begins or its cause changes, with the cause in words for
  ///   operators.
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
    // A client that disconnects cancels its own task. The request runs to its end all the same: if it were
    // canceled, that would look like an outage.
    await Task { [service, settings] in
      await service.ask(
        "\(settings.url)/v1/\(package):decodeIntegrityToken", ["integrityToken": .string(token)]
      ) { reply in
        // An unreadable payload is an outage, like any other answer that cannot be read.
        reply["tokenPayloadExternal"]?.object.flatMap { try? PlayIntegrityVerdict($0) }
      }
    }.value
  }
}
