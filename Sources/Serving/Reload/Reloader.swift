// Replaces the running configuration with a new one, or reports why it cannot.

package import Configuration
import Delivery
import Dispatch
package import Documents
import Gate
import JOSE
package import Platform
package import Records
import Sealing
import Synchronization
package import TLS
package import Talkdesk
import Tokens

/// Reloads the configuration and applies all of it or none of it. Reloads run one after the other, off the
/// event loops.
package final class Reloader: Sendable {
  /// The result of a reload.
  package struct Outcome: Sendable {
    /// All mistakes; empty if the new configuration is in use.
    package var problems: [DocumentProblem] = []
    /// What operators should know about the new configuration.
    package var notices: [ConfigurationNotice] = []
    /// Settings that were changed and need a restart.
    package var restartNeeded: [String] = []
    /// The state of the files that were read, or should have been.
    var files: [String: FileStamp] = [:]
    /// The number of the generation that is in use after the reload.
    package var generation: Int
    /// When the reload started.
    package var time: UnixTime

    /// Whether the configuration names another store, which needs a restart.
    var movesStore: Bool { restartNeeded.contains("store") }

    /// Whether the new configuration is in use.
    package var isSuccess: Bool { problems.isEmpty }
  }

  /// Loads the whole configuration from its sources, as at startup.
  package typealias Load = @Sendable () throws(ConfigurationErrors) -> LoadedConfiguration

  private struct State {
    var last: Outcome?
    /// The reload that was started last; the next one waits for it.
    var latest: Task<Outcome, Never>?
  }

  private let load: Load
  private let generations: Generations
  private let runtime: Runtime
  private let upstream: @Sendable (Configuration.Upstream?) throws -> TalkdeskID
  /// The TLS listener, if the server has one.
  private let listener: TLSListener?
  private let watch: FileWatch
  private let useLogin: @Sendable (Configuration.Store) -> Void
  private let log: Log
  private let clock: any TimeSource
  /// The configuration at startup. Changes to some of its settings need a restart.
  private let started: Configuration
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "callgate.configuration")

  /// Makes a reloader. Loads nothing yet.
  ///
  /// - Parameters:
  ///   - load: Loads the whole configuration from its sources, as at startup.
  ///   - upstream: Makes the Talkdesk ID client for the settings of an account, or for no account.
  ///   - listener: The public listener, which gets a new certificate; nil without TLS.
  ///   - watch: Gets the files that were read.
  ///   - useLogin: Gets the store's setting, which may contain a new login.
  package init(
    load: @escaping Load, generations: Generations, runtime: Runtime,
    upstream: @escaping @Sendable (Configuration.Upstream?) throws -> TalkdeskID, listener: TLSListener?,
    watch: FileWatch, useLogin: @escaping @Sendable (Configuration.Store) -> Void = { _ in }, log: Log,
    clock: any TimeSource
  ) {
    self.load = load
    self.generations = generations
    self.runtime = runtime
    self.upstream = upstream
    self.listener = listener
    self.watch = watch
    self.useLogin = useLogin
    self.log = log
    self.clock = clock
    started = generations.current.configuration
  }

  /// The result of the last reload; nil before the first.
  package var last: Outcome? { state.withLock { $0.last } }

  /// Reloads the whole configuration, once earlier reloads have ended.
  /// - Parameter reason: The cause of the reload, for the log.
  @discardableResult
  package func reload(because reason: String) async -> Outcome {
    let task = state.withLock { state in
      let before = state.latest
      let task = Task {
        _ = await before?.value
        return await self.perform(reason)
      }
      state.latest = task
      return task
    }
    return await task.value
  }

  private func perform(_ reason: String) async -> Outcome {
    let running = generations.current
    var outcome = Outcome(generation: running.number, time: clock.unixTime)
    do throws(ConfigurationErrors) {
      let loaded = try await loadBesideLoops()
      let configuration = loaded.configuration
      outcome.notices = loaded.notices
      if let problem = Self.emptied(from: running.configuration, to: configuration) {
        throw ConfigurationErrors(
          problems: [problem], notices: loaded.notices, files: configuration.files)
      }
      outcome.files = configuration.files
      outcome.notices += await configuration.fetchKeys(runtime.keys)
      let change = configuration.talkdesk.change(since: running.configuration.talkdesk)
      outcome.problems = take(configuration, change)
      if outcome.isSuccess {
        let next = Generation(configuration, number: running.number + 1, runtime)
        runtime.callbacks.queue.reconfigure(
          concurrency: configuration.callbacks.concurrency, endsPause: change == .account)
        // Failures of another account or of a former sender do not concern the new ones.
        if change == .account { runtime.metrics.troubles.ended(.callbackAPI) }
        runtime.metrics.troubles.forget(.push, besides: [])
        generations.replace(with: next)
        useLogin(configuration.store)
        runtime.endRaisedQuotas(from: running.configuration.policy, to: configuration.policy)
        outcome.generation = next.number
        runtime.metrics.configurationLoaded(at: outcome.time)
        outcome.restartNeeded = Self.unchangeable(from: started, to: configuration)
        log.set(configuration.log)
        log.write(brakesOf: configuration.policy)
      }
    } catch {
      outcome.problems = error.problems
      outcome.notices = error.notices
      outcome.files = error.files
    }
    state.withLock { $0.last = outcome }
    runtime.metrics.reloaded(outcome.isSuccess)
    watch.note(outcome.files, serves: outcome.isSuccess)
    tell(outcome, reason)
    return outcome
  }

  /// The problem of a file that has become empty, for example on a full disk; nil if there is none. Using the
  /// file would drop every rule.
  private static func emptied(from old: Configuration, to new: Configuration) -> DocumentProblem? {
    guard let place = new.emptyFile, old.emptyFile == nil else { return nil }
    return DocumentProblem(
      place, nil,
      Refusal(
        "the file is empty, and was not when the server read it before",
        "restore the file, or restart the server to run without it"))
  }

  /// Loads the configuration on its own queue, because reading files and keys can be slow.
  private func loadBesideLoops() async throws(ConfigurationErrors) -> LoadedConfiguration {
    let result: Result<LoadedConfiguration, ConfigurationErrors> = await withCheckedContinuation {
      continuation in
      queue.async { [load] in
        do throws(ConfigurationErrors) {
          continuation.resume(returning: .success(try load()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }

  /// Makes the listener use the new certificate and the token source use the new account: both, or neither.
  private func take(
    _ configuration: Configuration, _ change: Configuration.TalkdeskAccount.Change
  ) -> [DocumentProblem] {
    // Everything that may fail comes before any visible change. The certificate is the last such step, and
    // takes effect at once.
    let client: TalkdeskID?
    do {
      client = change == .none ? nil : try upstream(configuration.talkdesk.upstream)
    } catch {
      return [
        DocumentProblem(
          .setting("talkdesk"), nil,
          Refusal("the HTTP client cannot be created: \(error)", "check the credential"))
      ]
    }
    if let listener, let identity = configuration.listen.tls?.identity {
      do throws(TLSFailure) {
        if try listener.use(identity) {
          log.write(
            .info, "new connections get a new certificate",
            [
              "subject": identity.certificate.subject,
              "not_after": ConfigurationBuilder.date(identity.certificate.notAfter),
            ])
        }
      } catch {
        return [
          DocumentProblem(
            .setting("listen.tls"), nil,
            Refusal("the certificate cannot be served: \(error)", "check certificate and key"))
        ]
      }
    }
    runtime.tokens.reconfigure(
      issuer: client, movesAccount: change == .account, policy: TokenPolicy(configuration.tokens))
    return []
  }

  private func tell(_ outcome: Outcome, _ reason: String) {
    for notice in outcome.notices { log.write(.warning, "configuration notice", ["notice": "\(notice)"]) }
    for problem in outcome.problems {
      log.write(.error, "configuration rejected", ["problem": "\(problem)"])
    }
    for setting in outcome.restartNeeded {
      log.write(.warning, "a changed setting takes effect after a restart", ["setting": setting])
    }
    if outcome.isSuccess {
      log.write(
        .info, "configuration reloaded", ["because": reason, "generation": outcome.generation])
    } else {
      log.write(
        .error, "configuration not reloaded; the old one stays in use",
        [
          "because": reason, "generation": outcome.generation,
          "problems": outcome.problems.count,
        ])
    }
  }

  /// The settings that differ and take effect only after a restart.
  static func unchangeable(from old: Configuration, to new: Configuration) -> [String] {
    var names: [String] = []
    func compare<Value: Equatable>(_ name: String, _ value: (Configuration) -> Value) {
      if value(old) != value(new) { names.append(name) }
    }
    compare("listen.host", \.listen.host)
    compare("listen.port", \.listen.port)
    compare("listen.share_port", \.listen.sharePort)
    // A new certificate is used at once; turning TLS on or off needs a restart.
    compare("listen.tls") { $0.listen.tls == nil }
    compare("listen.tls.hsts_subdomains") { $0.listen.tls?.hstsSubdomains == true }
    compare("admin.host, admin.port", \.admin.listener)
    compare("outbound.ca_file", \.authorities)
    compare("log.audit", \.audit)
    compare("store", \.store.identity)
    compare("store.key_file, store.previous_key_file") { $0.storeKeys?.all.map(\.mark) }
    // The drain reads its times from the current configuration when it begins.
    compare("limits") { configuration in
      var limits = configuration.limits
      limits.drainDelay = .zero
      limits.drainTimeout = .zero
      return limits
    }
    return names
  }
}
