// Keeps the public keys of all issuers, by URL, across reloads.

import HTTP
import JOSE
import Platform
import Records
import Synchronization

/// Makes and remembers key sources.
final class KeySources: Sendable {
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let log: Log
  private let sources = Mutex<[String: KeySource]>([:])

  init(transport: any HTTPTransport, time: any TimeSource, log: Log) {
    self.transport = transport
    self.time = time
    self.log = log
  }

  /// The source of a URL.
  func source(_ url: String) -> KeySource {
    sources.withLock { sources in
      if let known = sources[url] { return known }
      let name = KeySource.name(of: url)
      let source = KeySource(url: url, transport: transport, time: time) { [log] in log.write($0, of: name) }
      sources[url] = source
      return source
    }
  }

  /// Renews the keys of the configuration that serves, as they become due, until the task is cancelled.
  func keepFresh(_ generations: Generations) async {
    while await time.hasSlept(until: time.now + .seconds(1)) {
      for (_, source) in generations.current.authenticator.jwt.sources { source.renewIfDue() }
    }
  }
}

extension JWTAuthenticator {
  /// The callers whose issuers publish their keys, with where they do.
  var sources: [(callerID: String, keys: KeySource)] {
    issuers.compactMap { issuer in
      if case .source(let source) = issuer.keys { (issuer.id, source) } else { nil }
    }
  }
}

extension Log {
  /// Tells what became of an issuer's keys.
  fileprivate func write(_ event: KeySource.Event, of name: String) {
    switch event {
    case .failed(let failure, let isNew):
      write(
        isNew ? .warning : .debug, "an issuer's keys cannot be fetched",
        ["url.full": name, "error.message": "\(failure)"])
    case .recovered:
      write(.info, "an issuer's keys can be fetched again", ["url.full": name])
    case .expired:
      write(
        .error, "an issuer's keys are no longer used: it could not be asked for a day", ["url.full": name])
    case .published(let set):
      if set.keys.isEmpty {
        write(
          .warning, "an issuer publishes no key that can verify: none of its tokens is accepted",
          ["url.full": name])
      }
      for skipped in set.skipped {
        write(
          .info, "a key of an issuer is not used",
          ["url.full": name, "position": String(skipped.index + 1), "error.message": "\(skipped.reason)"])
      }
    }
  }
}

extension Configuration {
  /// Fetches the keys of every issuer that publishes them, all at the same time.
  /// - Returns: What an operator should know: for each caller whose issuer cannot be asked, what becomes of its users.
  func fetchKeys(_ sources: KeySources) async -> [ConfigurationNotice] {
    await withTaskGroup(of: (Int, ConfigurationNotice?).self) { group in
      for (index, caller) in callers.enumerated() {
        guard case .jwt(let issuer) = caller.proof, case .url(let url, let place) = issuer.keys else {
          continue
        }
        let source = sources.source(url)
        group.addTask {
          guard case .failure(let failure) = await source.fetch() else { return (index, nil) }
          let consequence =
            source.status.keys == 0
            ? "users of \(caller.id) get 503 until they come"
            : "those that were fetched before serve for a day at most"
          return (
            index,
            ConfigurationNotice(
              place: place,
              message:
                "callers: the keys of \(caller.id) at \(source.name) cannot be fetched: \(failure); \(consequence)"
                + " — check jwks_url, and that this machine reaches it"
            )
          )
        }
      }
      var notices: [(Int, ConfigurationNotice)] = []
      for await (index, notice) in group {
        if let notice { notices.append((index, notice)) }
      }
      return notices.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }
}
