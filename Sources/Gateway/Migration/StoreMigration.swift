// Upgrades the schema of the configured store, and replaces its store key if asked to, for `callgate
// migrate`.

public import Configuration
import Gate
import Handling
import JOSE
import Platform
import Sealing
import Store
public import Stores
import Synchronization

/// Migrates the store of a configuration without starting a server.
public enum StoreMigration {
  /// The result of `run`.
  public struct Outcome: Sendable {
    /// The kind of the store: `memory`, `sqlite` or `postgres`.
    public let kind: String
    /// A text on the store keys, for operators; nil if none is configured.
    public let keys: String?
  }

  /// Brings the schema up to date, under a lock, and checks the store keys. A second run changes nothing.
  ///
  /// - Parameters:
  ///   - reseals: Whether everything is sealed again with the current store key. The previous key, which must
  ///     be configured, is then removed from use.
  ///   - report: Called with a sentence for operators whenever the upgrade starts to wait for something else.
  ///     The upgrade waits as long as it takes.
  public static func run(
    _ configuration: Configuration, reseals: Bool, report: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws(StoreFailure) -> Outcome {
    let kind = configuration.store.kind
    let store = configuration.store.open()
    let ruling: Result<(KeyRuling, [KeyInUse]), StoreFailure>
    let unreadable = UnreadableValues()
    do throws(StoreError) {
      try await store.migrate(MigrationWait(nil, report: report))
      let held = configuration.storeKeys
      let now = Instant(SystemClock().unixTime)
      if reseals {
        // Put the current key in use before it seals anything.
        let first = try await store.updateKeys(at: now) { KeyRuling($0, holding: held, at: now) }
        if case .usable = first, let held, let previous = held.previous {
          _ = try await store.reseal(previous.id) { held.resealed($0, noting: unreadable) }
          // Renew the aliases after the contents, because this opens contents and seals them again.
          _ = try await store.renewAliases { GMSRenewal.renewal(of: $0, with: held) }
        }
        let made = try await store.updateKeys(at: now) {
          KeyRuling($0, holding: held, at: now, removesPrevious: true)
        }
        ruling = .success((made, try await store.keys()))
      } else {
        let keys = try await store.keys()
        ruling = .success((KeyRuling(keys, holding: held, at: now), keys))
      }
    } catch {
      ruling = .failure(StoreFailure(error, of: kind))
    }
    await store.close()
    switch try ruling.get() {
    case (.refused(let refusal), _): throw StoreFailure(refusal)
    case (.usable(let changes), let keys):
      return Outcome(
        kind: kind,
        keys: configuration.storeKeys.map {
          changes.description(of: $0.current.id, in: keys) + unreadable.description
        })
    }
  }
}

/// The values that could not be opened in order to be sealed again. They are removed, because no key opens
/// them.
private final class UnreadableValues: Sendable {
  private let ids = Mutex<Set<[UInt8]>>([])

  func note(_ id: [UInt8]) { ids.withLock { _ = $0.insert(id) } }

  /// A text for operators on the number of these values; empty if there are none.
  var description: String {
    let count = ids.withLock { $0.count }
    return count == 0 ? "" : "; sealed values that were damaged and are removed: \(count)"
  }
}

extension StoreKeys {
  /// Returns a value sealed with the current key; nil if it cannot be opened.
  fileprivate func resealed(_ value: SealedValue, noting unreadable: UnreadableValues) -> [UInt8]? {
    let plaintext: [UInt8]
    do throws(StoreKeys.Failure) {
      plaintext = try open(value.sealed, for: value.purpose, associated: value.id)
    } catch {
      unreadable.note(value.id)
      return nil
    }
    do throws(OpenSSLError) {
      return try seal(plaintext, for: value.purpose, associated: value.id)
    } catch {
      // Nothing is lost: the transaction is not committed.
      preconditionFailure("OpenSSL has no randomness: \(error)")
    }
  }
}
