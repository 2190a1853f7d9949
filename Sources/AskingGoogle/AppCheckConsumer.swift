// Asks Google to consume App Check tokens, so that each token works only once across all servers of a
// Firebase project.

package import HTTP
import JSON
package import Notices
package import Platform
import Trust

/// The URL of Google's App Check API, and the service account to use there.
package struct AppCheckConsumption: Sendable, Equatable {
  /// The usual base URL of the API.
  package static let usualURL = "https://firebaseappcheck.googleapis.com"

  let access: GoogleAccess
  let url: String

  /// - Parameters:
  ///   - project: The number of the Firebase project.
  ///   - url: Another base URL of the API, checked by the caller.
  package init(_ account: ServiceAccount, project: String, url: String? = nil) {
    access = GoogleAccess(
      account, scope: "https://www.googleapis.com/auth/firebase", setting: "attestation.app_check")
    self.url = "\(url ?? Self.usualURL)/v1beta/projects/\(project):verifyAppCheckToken"
  }
}

/// Consumes tokens with one request each. A request is retried only after a 401, before which Google does
/// nothing. After any other failure, Google might report our own first attempt as a replay.
package final class AppCheckConsumer: Sendable {
  package let settings: AppCheckConsumption
  /// Google's App Check API.
  package let service: GoogleService

  /// - Parameter log: Called when an outage begins or its cause changes, with the cause in words for
  ///   operators.
  package init(
    _ settings: AppCheckConsumption, transport: any HTTPTransport, time: any TimeSource,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.settings = settings
    service = GoogleService("App Check", settings.access, transport: transport, time: time, log: log)
  }

  /// Consumes a token.
  ///
  /// - Returns: Whether the token was consumed before.
  package func consume(_ token: String) async -> Result<Bool, GoogleService.Failure> {
    // A client that disconnects cancels its own task. The token is consumed all the same.
    await Task { [service, settings] in
      await service.ask(settings.url, ["appCheckToken": .string(token)]) { reply in
        switch reply["alreadyConsumed"] {
        case nil: false
        case .bool(let value)?: value
        default: nil
        }
      }
    }.value
  }
}
