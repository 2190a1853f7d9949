// Fetches the keys of the configured issuers and of App Check, and renews all keys of the current
// configuration.

package import Callers
package import Configuration
import Documents
package import Platform

extension KeySources {
  /// Renews the keys of the current configuration as they become due, until the task is canceled.
  package func keepFresh(_ generations: Generations, clock: any TimeSource) async {
    while await clock.hasSlept(until: clock.now + .seconds(1)) {
      let generation = generations.current
      for (_, keys) in generation.issuers { keys.renewIfDue() }
      if let keys = generation.appCheck?.keys,
        generation.configuration.fetchesAppCheckKeysAhead || keys.status.keys > 0
      {
        keys.renewIfDue()
      }
      if let keys = generation.numberProofs?.keys, keys.status.keys > 0 { keys.renewIfDue() }
    }
  }
}

extension Configuration {
  /// Whether the server fetches the keys of App Check before a token needs them. The sandbox does not: it
  /// makes its RSA key at the first request for it, in up to half a second, and its start should not wait for
  /// that.
  fileprivate var fetchesAppCheckKeysAhead: Bool { purpose != .sandbox }

  /// Fetches the keys of every issuer that publishes them. Outside the sandbox, also fetches those of App
  /// Check if an app uses it. All fetches run at the same time.
  ///
  /// - Returns: A notice for each issuer whose keys could not be fetched, and for App Check, with the
  ///   consequence for users.
  package func fetchKeys(_ sources: KeySources) async -> [ConfigurationNotice] {
    await withTaskGroup(of: (Int, ConfigurationNotice?).self) { group in
      let issuers =
        callers.compactMap { caller in
          if case .jwt(let issuer) = caller.proof {
            ("callers", caller.id, "users of \(caller.id)", issuer)
          } else {
            nil
          }
        } + (admin.jwt.map { [("admin", "jwt", "operators with a JWT", $0.issuer)] } ?? [])
      for (index, (section, name, users, issuer)) in issuers.enumerated() {
        guard case .url(let url, let place) = issuer.keys else { continue }
        let source = sources.source(url)
        group.addTask {
          guard case .failure(let failure) = await source.fetch() else { return (index, nil) }
          let consequence =
            source.status.keys == 0
            ? "\(users) get 503 until the server has the keys"
            : "the server uses the previous keys for a day at most"
          return (
            index,
            ConfigurationNotice(
              place: place,
              message:
                "\(section): the keys of \(name) at \(source.name) cannot be fetched: \(failure); \(consequence)"
                + " — check jwks_url, and that this machine can reach it"
            )
          )
        }
      }
      if let setting = appCheck, fetchesAppCheckKeysAhead, apps.contains(where: \.takesAppCheck) {
        let source = sources.source(setting.keysURL, terms: .appCheck)
        group.addTask { [index = issuers.count] in
          guard case .failure(let failure) = await source.fetch() else { return (index, nil) }
          return (
            index,
            ConfigurationNotice(
              place: setting.place,
              message:
                "attestation: the keys of App Check at \(source.name) cannot be fetched: \(failure); apps with app_check: enforce "
                + "answer 503 while the server has none — check that this machine can reach it"
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
