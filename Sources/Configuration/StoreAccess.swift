// Opens the configured store for servers and for `callgate migrate`.

import Gate
import JOSE
import Platform
import PostgresStore
import SQLiteStore
package import Sealing
package import Store
import Synchronization

/// Why a store cannot be used.
public struct StoreFailure: Error, Sendable, CustomStringConvertible {
  /// Whether another time could succeed: it does not answer, or has no room.
  public let isTemporary: Bool
  /// For operators; without a password.
  public let description: String

  /// - Parameter kind: The kind of store. A file stays read-only until an operator changes that. A database
  ///   server is read-only while another one takes over, or while its disk is full.
  package init(_ error: StoreError, of kind: String) {
    switch error.kind {
    case .unavailable, .full: isTemporary = true
    case .readOnly: isTemporary = kind == "postgres"
    case .damaged, .incompatible, .refused, .rejected, .misconfigured: isTemporary = false
    }
    description = "\(error)"
  }

  /// The store keys do not fit the store.
  package init(_ refusal: KeyRefusal) {
    isTemporary = false
    description = "\(refusal.message) — \(refusal.remedy)"
  }
}

/// The store of a configuration, without a server.
public enum StoreMigration {
  /// What a store is after `run`.
  public struct Outcome: Sendable {
    /// What kind of store it is: `memory`, `sqlite` or `postgres`.
    public let kind: String
    /// The store keys, for operators; nil where there is none.
    public let keys: String?
  }

  /// Brings the schema up to date, under a lock, and looks at the store keys; doing it again changes nothing.
  ///
  /// - Parameters:
  ///   - reseals: Whether everything is sealed with the current store key, and the previous one, which must be configured, goes out
  ///     of use.
  ///   - report: Gets a sentence for operators whenever the upgrade begins to wait for something else. It waits as long as it takes.
  public static func run(
    _ configuration: Configuration, reseals: Bool, report: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws(StoreFailure) -> Outcome {
    let location = StoreLocation(configuration.store)
    let store = location.store()
    let ruling: Result<(KeyRuling, [KeyInUse]), StoreFailure>
    let unreadable = UnreadableValues()
    do throws(StoreError) {
      try await store.migrate(MigrationWait(nil, report: report))
      let held = configuration.storeKeys
      let now = Instant(SystemClock().unixTime)
      if reseals {
        // The current key is in use before it seals anything.
        let first = try await store.updateKeys(at: now) { KeyRuling($0, holding: held, at: now) }
        if case .usable = first, let held, let previous = held.previous {
          _ = try await store.reseal(previous.id) { held.resealed($0, noting: unreadable) }
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
      ruling = .failure(StoreFailure(error, of: location.kind))
    }
    await store.close()
    switch try ruling.get() {
    case (.refused(let refusal), _): throw StoreFailure(refusal)
    case (.usable(let changes), let keys):
      return Outcome(
        kind: location.kind,
        keys: configuration.storeKeys.map {
          changes.description(of: $0.current.id, in: keys) + unreadable.description
        })
    }
  }
}

/// The values that could not be opened when they were to be sealed again. They are removed: no key opens them.
private final class UnreadableValues: Sendable {
  private let ids = Mutex<Set<[UInt8]>>([])

  func note(_ id: [UInt8]) { ids.withLock { _ = $0.insert(id) } }

  /// What operators are told of them; empty where there is none.
  var description: String {
    let count = ids.withLock { $0.count }
    return count == 0 ? "" : "; sealed values that were damaged and are removed: \(count)"
  }
}

extension StoreKeys {
  /// A value sealed with the current key; nil where it cannot be opened.
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

extension KeyChanges {
  /// The current store key and what becomes of others, for operators.
  package func description(of current: StoreKeyID, in keys: [KeyInUse]) -> String {
    var parts: [String]
    if let row = keys.first(where: { $0.mark.id == current }) {
      parts = ["\(current), in use since \(Instant(seconds: row.since).rfc3339)"]
    } else {
      parts = ["\(current), which serve takes into use"]
    }
    for id in removed {
      let isThere = keys.contains { $0.mark.id == id }
      parts.append(isThere ? "serve removes \(id), which seals nothing" : "\(id) is no longer in use")
    }
    if let previous {
      parts.append("the previous key \(previous.id) may be removed from \(previous.from)")
    }
    return parts.joined(separator: "; ")
  }
}

extension KeyChanges.PreviousKey {
  /// From when the key may be removed: `now`, or a time.
  package var from: String { sealedUntil?.rfc3339 ?? "now" }
}

/// The place of a configured store, and the only code that opens each kind.
package struct StoreLocation {
  private let place: Configuration.Store

  /// The configured location.
  package init(_ place: Configuration.Store) { self.place = place }

  /// A store there. Nothing is opened yet: `migrate` does that first.
  package func store() -> any Store {
    switch place {
    case .memory: return MemoryStore()
    case .sqlite(let path): return SQLiteStore(path: path)
    case .postgres(let url):
      do throws(StoreError) {
        return PostgresStore(try PostgresAddress(url.exposedString()))
      } catch {
        preconditionFailure("the configured URL has been read before")
      }
    }
  }

  /// The word for the kind of store.
  package var kind: String {
    switch place {
    case .memory: "memory"
    case .sqlite: "sqlite"
    case .postgres: "postgres"
    }
  }
}
