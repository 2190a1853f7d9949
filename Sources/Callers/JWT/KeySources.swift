// Remembers the public keys of each issuer across reloads, by URL, and logs changes and failed fetches.

import Documents
package import HTTP
package import JOSE
package import Platform
package import Records
import Synchronization

/// The key sources of all issuers, which outlive a reload.
package final class KeySources: Sendable {
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let log: Log
  private struct Name: Hashable {
    let url: String
    let terms: KeySource.Terms
  }

  private let sources = Mutex<[Name: KeySource]>([:])
  /// The time at which the issuer of a token was last logged as unknown.
  private let unknownIssuerLoggedAt = Mutex<MonotonicTime?>(nil)

  package init(transport: any HTTPTransport, time: any TimeSource, log: Log) {
    self.transport = transport
    self.time = time
    self.log = log
  }

  /// The source of the keys at a URL. The same URL and terms always have the same source.
  package func source(_ url: String, terms: KeySource.Terms = .issuer) -> KeySource {
    sources.withLock { sources in
      let key = Name(url: url, terms: terms)
      if let known = sources[key] { return known }
      let name = KeySource.name(of: url)
      let source = KeySource(url: url, terms: terms, transport: transport, time: time) { [log] in
        log.write($0, of: name)
      }
      sources[key] = source
      return source
    }
  }

  /// Logs the unknown issuer that a token names, at level `debug` and at most once a second.
  package func logUnknownIssuer(_ issuer: String) {
    guard log.isEnabled(.debug) else { return }
    let now = time.now
    let isDue = unknownIssuerLoggedAt.withLock { last in
      guard last.map({ now >= $0 + .seconds(1) }) ?? true else { return false }
      last = now
      return true
    }
    // The issuer is unverified. The log escapes it, and it must not fill the log.
    guard isDue else { return }
    log.write(.debug, "a token names an issuer that no caller has", ["issuer": issuer.shortened])
  }
}

extension JWTAuthenticator {
  /// The sources of the issuers that publish their keys, by the caller's id.
  package var sources: [(name: String, keys: KeySource)] {
    issuers.compactMap { issuer in
      if case .source(let source) = issuer.keys { (issuer.id, source) } else { nil }
    }
  }
}

extension String {
  /// The beginning of an unverified text, so that the text does not fill the log. The log escapes it.
  fileprivate var shortened: String {
    let start = unicodeScalars.prefix(200)
    return start.endIndex == unicodeScalars.endIndex ? self : String(start) + "…"
  }
}

extension JWKSet.Skipped {
  /// The key that is left out, and why.
  package var words: String {
    let name = keyID.map { " (kid \(quoted($0)))" } ?? ""
    return "key \(index + 1)\(name) is left out: \(reason)"
  }
}

extension Log {
  /// Logs an event of an issuer's keys.
  fileprivate func write(_ event: KeySource.Event, of name: String) {
    switch event {
    case .failed(let failure, let isNew):
      write(
        isNew ? .warning : .debug, "issuer keys cannot be fetched",
        ["url.full": name, "error.message": "\(failure)"])
    case .recovered:
      write(.info, "issuer keys can be fetched again", ["url.full": name])
    case .expired:
      write(
        .error, "issuer keys expired: no successful fetch for 24 hours",
        ["url.full": name])
    case .published(let set):
      if set.keys.isEmpty {
        write(
          .warning, "issuer publishes no usable key: the server rejects all its tokens",
          ["url.full": name])
      }
      for skipped in set.skipped {
        write(
          .info, "a key of an issuer is ignored",
          [
            "url.full": name, "position": skipped.index + 1,
            "kid": skipped.keyID?.shortened ?? "", "error.message": "\(skipped.reason)",
          ])
      }
    }
  }
}
