// Has Google consume the tokens of App Check, so that each is good once for all servers of a Firebase project.

package import HTTP
import JSON
package import Notices
package import Platform
import Trust

/// Where Google's API of App Check is, and who this server is there.
package struct AppCheckConsumption: Sendable, Equatable {
  /// The base of the API.
  package static let usualURL = "https://firebaseappcheck.googleapis.com"

  let access: GoogleAccess
  let url: String

  /// - Parameters:
  ///   - project: The number of the Firebase project.
  ///   - url: Another base of the API, checked by the caller.
  package init(_ account: ServiceAccount, project: String, url: String? = nil) {
    access = GoogleAccess(
      account, scope: "https://www.googleapis.com/auth/firebase", setting: "attestation.app_check")
    self.url = "\(url ?? Self.usualURL)/v1beta/projects/\(project):verifyAppCheckToken"
  }
}

/// Consumes tokens, one request for each: a repetition would find its own first try.
package final class AppCheckConsumer: Sendable {
  /// The settings by which it asks.
  package let settings: AppCheckConsumption
  /// Google's API.
  package let service: GoogleService

  /// - Parameter log: Gets the cause of each outage once, in words for operators.
  package init(
    _ settings: AppCheckConsumption, transport: any HTTPTransport, time: any TimeSource,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.settings = settings
    service = GoogleService("App Check", settings.access, transport: transport, time: time, log: log)
  }

  /// Consumes a token.
  ///
  /// - Returns: Whether it was consumed before.
  package func consume(_ token: String) async -> Result<Bool, GoogleService.Failure> {
    // A client that leaves cancels its own task. The token is consumed all the same.
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
