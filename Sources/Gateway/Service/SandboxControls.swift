// The controls of a running server that the sandbox uses.

import Admin
import Callers
import Configuration
import Delivery
public import HTTP
public import HTTPServer
import Notices
import PushDelivery
import Serving
import Store
import Tokens
import Trust

/// The IDs that attestations use for the apps of a server.
public struct AttestedAppIDs: Sendable {
  /// The Firebase project, if there is one.
  public let project: (number: String, id: String)?
  /// The Firebase project for proofs of phone numbers, if there is one.
  public let numberProject: (number: String, id: String)?
  /// The first Firebase app id of each app that has one, by the app's name.
  public let firebase: [String: String]
  /// Team and bundle of each app that has them, by the app's name.
  public let bundles: [String: String]
  /// Package and certificates of each app that has them, by the app's name.
  public let packages: [String: (package: String, certificates: [String])]
}

/// The controls of a running server that only the sandbox uses.
public struct SandboxControls: Sendable {
  /// Drops all cached tokens of the server.
  public let forgetTokens: @Sendable () -> Void
  /// Adapts the server after its clock was moved by this many seconds; a negative number means back.
  public let clockMoved: @Sendable (Int64) -> Void
  /// The IDs of the apps whose attestations the server checks, in the current configuration.
  public let attestedApps: @Sendable () -> AttestedAppIDs
  /// The time for which the server still sends nothing to each paused upstream, named as in the sandbox's
  /// faults. Upstreams without a pause are left out.
  public let pauses: @Sendable () -> [(of: String, remaining: Duration)]
  /// Ends these pauses, so that the next request reaches the upstream again.
  public let endPauses: @Sendable () -> Void
  /// Answers a request to approve an installation: `{"user_code"}`.
  public let approveInstallation: @Sendable (borrowing Request, inout Exchange) -> Void
  /// Finds a callback by its ID. Returns the trace ID of Talkdesk's response, and the masked number; nil if
  /// there is none.
  public let findCallback: @Sendable (String) async -> (traceID: String?, contact: String)?
  /// Sends JSON to a URL, and ignores the response.
  public let post: @Sendable (_ url: String, _ content: [UInt8]) async -> Void
}

extension SandboxControls {
  init(
    _ runtime: Runtime, _ generations: Generations, _ administration: Administration,
    _ transport: any HTTPTransport
  ) {
    let forgetTokens = { @Sendable in
      runtime.tokens.forgetTokens()
      runtime.desks.forgetTokens()
      runtime.push?.forgetTokens()
    }
    self.init(
      forgetTokens: forgetTokens,
      clockMoved: { seconds in
        // At the new time, the tokens have expired or are not valid yet.
        forgetTokens()
        // Allowances that were used at a later time would refuse requests until that time comes.
        guard seconds < 0 else { return }
        runtime.ledger.forgetMemory()
        runtime.callbacks.brakes.forget()
      },
      attestedApps: {
        let configuration = generations.current.configuration
        let apps = configuration.apps
        return AttestedAppIDs(
          project: configuration.appCheck.map { ($0.project.number, $0.project.id) },
          numberProject: configuration.numbers?.firebase.map { ($0.project.number, $0.project.id) },
          firebase: Dictionary(
            uniqueKeysWithValues: apps.compactMap { app in app.firebaseAppIDs.first.map { (app.id, $0) } }),
          bundles: Dictionary(
            uniqueKeysWithValues: apps.compactMap { app in app.attested?.appAttest.map { (app.id, $0.appID) }
            }),
          packages: Dictionary(
            uniqueKeysWithValues: apps.compactMap { app in
              app.attested?.play.map { (app.id, ($0.package, $0.certificates)) }
            }))
      },
      pauses: {
        let senders = generations.current.push?.senders
        let desks = runtime.desks.coolDowns
        let all: [(of: String, remaining: Duration?)] = [
          (
            "token",
            generations.current.scopes.configured(runtime.tokens.status).scopes
              .compactMap(\.coolDown?.remaining).max()
          ),
          ("callback", runtime.callbacks.queue.pause), ("fcm", senders?.pause(.fcm)),
          ("hook", senders?.pause(.http)), ("sendbird", desks.sessions), ("desk", desks.tickets),
        ]
        return all.compactMap { pause in pause.remaining.map { (pause.of, $0) } }
      },
      endPauses: {
        runtime.tokens.endCoolDowns()
        runtime.callbacks.queue.endPause()
        generations.current.push?.senders.endPauses()
        runtime.push?.startAnew()
        runtime.desks.endCoolDowns()
      },
      approveInstallation: { administration.approveInSandbox($0, &$1) },
      findCallback: { [store = runtime.callbacks.store.base] text in
        guard let id = CallbackID(text) else { return nil }
        // If the store fails, no callback is found.
        guard let record = try? await store.callbacks([id]).first else { return nil }
        return (record.platformTID, record.contact)
      },
      post: { url, content in
        // Do not repeat a lost event: Talkdesk may lose one, too.
        _ = try? await transport.send(
          OutboundRequest(
            method: .post, url: url, fields: ["Content-Type": "application/json"], content: content,
            timeout: .seconds(10)))
      })
  }
}
