// All issuers' published keys by URL: they outlive a reload, which must not fetch what is known.

internal import HTTP
internal import Platform
internal import Synchronization

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
      let source = KeySource(url: url, transport: transport, time: time) { [log] failure in
        log.write(
          .warning, "an issuer's keys cannot be fetched", ["url.full": url, "error.message": "\(failure)"])
      }
      sources[url] = source
      return source
    }
  }
}

/// An issuer whose keys cannot be had: nobody could be let in, so it is a mistake of the configuration.
struct UnreachableKeys: Sendable, CustomStringConvertible {
  /// Where the issuer is configured.
  let place: ConfigurationPlace
  let callerID: String
  let url: String
  let reason: String

  /// The problem it is.
  var problem: ConfigurationProblem {
    ConfigurationProblem(
      place: place, subject: "callers",
      message: "the keys of \(callerID) at \(url) cannot be fetched: \(reason)",
      remedy: "check jwks_url and that this machine reaches it, or give the set as jwks_file")
  }

  var description: String { problem.description }
}

extension Configuration {
  /// Fetches the keys of every issuer that publishes them.
  /// - Returns: Those that cannot be had and were not had before.
  func fetchKeys(_ sources: KeySources) async -> [UnreachableKeys] {
    var unreachable: [UnreachableKeys] = []
    for caller in callers {
      guard case .jwt(let issuer) = caller.proof, case .url(let url, let place) = issuer.keys else {
        continue
      }
      let source = sources.source(url)
      guard source.generation == 0, case .failure(let failure) = await source.fetch() else { continue }
      unreachable.append(
        UnreachableKeys(place: place, callerID: caller.id, url: url, reason: "\(failure)"))
    }
    return unreachable
  }
}
