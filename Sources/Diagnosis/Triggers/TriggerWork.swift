// Registers the triggers of a configuration with Talkdesk, lists and removes them:
// `callgate talkdesk triggers`.

public import Configuration
import JOSE
import Outcomes
import Platform
import Store
import Stores
import Talkdesk
import Tokens
import Upstream

/// Lists, registers and removes the triggers of a configuration. The store has their ids.
public enum TriggerWork {
  /// The action to run.
  public enum Step: Sendable { case list, add, remove }

  /// The reason why the action was not completed.
  public enum Failure: Error, Sendable {
    /// The configuration has no secret or URL for the webhook, or no Talkdesk credential.
    case notConfigured(String)
    /// Talkdesk refuses the credential or the request.
    case refused(String)
    /// Talkdesk or the store fails or does not respond, or the HTTP client cannot be created.
    case unavailable(String)
    /// The operator ended the command between two triggers.
    case interrupted
  }

  /// Runs an action.
  ///
  /// - Parameters:
  ///   - isEnding: Returns whether to stop. Called only between triggers: a trigger that Talkdesk has
  ///     registered must be saved, or its ID is lost.
  ///   - report: Gets a line for each trigger.
  public static func run(
    _ step: Step, _ configuration: Configuration, isEnding: @Sendable () -> Bool,
    report: @Sendable (String) -> Void
  ) async throws(Failure) {
    guard let settings = configuration.outcomes, let hook = settings.hooks.first else {
      throw .notConfigured("outcomes.hook.secret_file is not set")
    }
    guard let url = settings.externalURL else {
      throw .notConfigured(
        "outcomes.external_url is not set: the URL under which Talkdesk reaches this server")
    }
    let store = configuration.store.open()
    let result: Result<Void, Failure>
    do throws(StoreError) {
      try await store.migrate()
      result = await work(
        step, configuration, Registrations(settings, hook, url), store, isEnding, report)
    } catch {
      result = .failure(.unavailable("the store: \(StoreFailure(error, of: configuration.store.kind))"))
    }
    await store.close()
    try result.get()
  }

  /// The triggers that the configuration names, and their webhook.
  private struct Registrations: Sendable {
    let settings: OutcomeSettings
    let hook: HookSecret
    let url: String

    init(_ settings: OutcomeSettings, _ hook: HookSecret, _ url: String) {
      (self.settings, self.hook, self.url) = (settings, hook, url)
    }

    func isCurrent(_ stored: StoredTrigger) -> Bool {
      settings.triggers.contains {
        $0.rawValue == stored.name && HookTemplate.mark(of: $0, hook, externalURL: url) == stored.mark
      }
    }
  }

  private static func work(
    _ step: Step, _ configuration: Configuration, _ wanted: Registrations, _ store: any Store,
    _ isEnding: @Sendable () -> Bool, _ report: @Sendable (String) -> Void
  ) async -> Result<Void, Failure> {
    do throws(Failure) {
      let stored = try await saved { () throws(StoreError) in try await store.triggers() }
      if step == .list {
        for trigger in stored {
          let isCurrent = wanted.isCurrent(trigger)
          report(
            "\(trigger.name)  \(trigger.id)  "
              + (isCurrent
                ? "registered" : "registered with another URL, secret or message: run add, or remove"))
        }
        for trigger in wanted.settings.triggers where !stored.contains(where: { $0.name == trigger.rawValue })
        {
          report("\(trigger.rawValue)  not registered")
        }
        return .success(())
      }
      let (upstream, transport, token) = try await open(configuration, scope: TriggerAPI.scope)
      let client = TriggerAPI(baseURL: wanted.settings.url ?? upstream.apiURL, transport: transport)
      let result = await change(step, stored, wanted, store, client, token, isEnding, report)
      await transport.shutdown()
      return result
    } catch {
      return .failure(error)
    }
  }

  private static func change(
    _ step: Step, _ stored: [StoredTrigger], _ wanted: Registrations, _ store: any Store,
    _ client: TriggerAPI,
    _ token: AccessToken, _ isEnding: @Sendable () -> Bool, _ report: @Sendable (String) -> Void
  ) async -> Result<Void, Failure> {
    do throws(Failure) {
      if step == .remove {
        for trigger in stored {
          guard !isEnding() else { throw .interrupted }
          try await asked(trigger.name) { () throws(TriggerAPI.Failure) in
            try await client.remove(trigger.name, id: trigger.id, token: token)
          }
          try await saved { () throws(StoreError) in try await store.forgetTrigger(trigger.name) }
          report("\(trigger.name)  removed")
        }
        return .success(())
      }
      for trigger in wanted.settings.triggers {
        guard !isEnding() else { throw .interrupted }
        let former = stored.first { $0.name == trigger.rawValue }
        if let former, wanted.isCurrent(former) {
          report("\(trigger.rawValue)  \(former.id)  is registered already")
          continue
        }
        let id = try await asked(trigger.rawValue) { () throws(TriggerAPI.Failure) in
          try await client.add(
            trigger.rawValue, url: wanted.url + wanted.hook.exposedPath(), title: "Callgate",
            message: HookTemplate.exposedText(of: trigger, wanted.hook), token: token)
        }
        let made = StoredTrigger(
          name: trigger.rawValue, id: id,
          mark: HookTemplate.mark(of: trigger, wanted.hook, externalURL: wanted.url))
        do throws(Failure) {
          try await saved { () throws(StoreError) in try await store.save(made) }
        } catch {
          report("\(made.name)  \(made.id)  registered, and not saved: remove it at Talkdesk")
          throw error
        }
        report("\(made.name)  \(made.id)  registered")
        if let former {
          try await asked(former.name) { () throws(TriggerAPI.Failure) in
            try await client.remove(former.name, id: former.id, token: token)
          }
        }
      }
      return .success(())
    } catch {
      return .failure(error)
    }
  }

  /// Gets a token with a scope. The caller must shut down the returned transport.
  static func open(
    _ configuration: Configuration, scope: String
  ) async throws(Failure) -> (Configuration.Upstream, CurlTransport, AccessToken) {
    guard let upstream = configuration.talkdesk.upstream else {
      throw .notConfigured("no Talkdesk credential is configured")
    }
    let clock = SystemClock()
    let transport: CurlTransport
    let identity: TalkdeskID
    do {
      transport = try CurlTransport(TransportSettings(authorities: configuration.authorities))
      identity = try TalkdeskID(upstream, transport: transport, clock: clock)
    } catch {
      throw .unavailable("the HTTP client cannot be created: \(error)")
    }
    do throws(TokenExchangeError) {
      let token = try await identity.exchange(
        scope: scope, deadline: clock.now + configuration.tokens.deadline)
      return (upstream, transport, token)
    } catch {
      await transport.shutdown()
      if case .refused = error {
        throw .refused("Talkdesk ID issued no token with the scope \(scope): \(error)")
      }
      throw .unavailable("\(error)")
    }
  }

  private static func asked<Value>(
    _ name: String, _ step: () async throws(TriggerAPI.Failure) -> Value
  ) async throws(Failure) -> Value {
    do throws(TriggerAPI.Failure) {
      return try await step()
    } catch {
      switch error {
      case .refused(let status, let code):
        throw .refused("Talkdesk refuses \(name): status \(status)\(code.map { ", \($0)" } ?? "")")
      case .noID:
        throw .unavailable("Talkdesk registered \(name) and named no id: remove it at Talkdesk")
      case .unavailable(let detail): throw .unavailable("Talkdesk: \(detail)")
      }
    }
  }

  private static func saved<Value>(
    _ step: () async throws(StoreError) -> Value
  ) async throws(Failure) -> Value {
    do throws(StoreError) { return try await step() } catch { throw .unavailable("the store: \(error)") }
  }
}
