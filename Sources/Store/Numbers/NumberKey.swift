// The secret key for hashes of phone numbers. With it, the store recognizes numbers without containing them.

package import Gate
import JOSE
package import Sealing
import Synchronization

/// The key for all hashes of phone numbers, the same in every instance and after every restart.
///
/// The first instance makes the key and saves it in the store. With a store key, the saved key is sealed. A
/// start after the store key was added or changed seals it again with the current one. The hashes stay the
/// same. Without a store key, it is saved as plain text. Anyone with a copy of the store can then find the
/// numbers by hashing all possible ones.
package final class NumberKey: Sendable {
  private let store: any NumberKeyStore
  private let keys: StoreKeys?
  private let secrets: Mutex<Secrets>

  private struct Secrets {
    let key: Secret
    /// Makes quick hashes with a key derived from `key`.
    let maker: StoreIDMaker

    init(_ key: Secret) {
      self.key = key
      maker = StoreIDMaker(
        key: StoreID(digest: HMAC.code(Array("proven numbers".utf8), key: key, .sha256)))
    }
  }

  /// Starts with a random key, which `load` saves, or replaces by the saved key.
  package init(store: any NumberKeyStore, keys: StoreKeys?) {
    self.store = store
    self.keys = keys
    do throws(OpenSSLError) {
      var bytes = try RandomBytes.make(32)
      secrets = Mutex(Secrets(Secret(wiping: &bytes)))
    } catch {
      preconditionFailure("OpenSSL has no randomness: \(error)")
    }
  }

  /// The HMAC-SHA-256 of some octets: 32 octets.
  package func hash(of octets: [UInt8]) -> [UInt8] {
    HMAC.code(octets, key: secrets.withLock { $0.key }, .sha256)
  }

  /// A keyed hash that costs a tenth of HMAC-SHA-256. A request for a callback needs two of them if a rule
  /// `own_number` applies to it.
  package func quickID(of octets: [UInt8]) -> StoreID { secrets.withLock { $0.maker }.id(of: octets) }

  /// The first 128 bits of the hash of a number in E.164 form.
  package func id(of number: E164) -> StoreID { StoreID(digest: hash(of: Array(number.text.utf8))) }

  /// Loads the store's key, or saves this one if the store has none. Call it before any hash is compared or
  /// stored.
  package func load() async throws(StoreError) {
    let mine = secrets.withLock { $0.key }
    let stored = try await store.numberKey(or: sealed(mine))
    guard let value = stored.value else {
      throw Self.damaged("it was removed because no store key could open it")
    }
    var bytes = value
    if stored.isSealed {
      guard let keys else { throw Self.damaged("it is encrypted, and no store key is configured") }
      do throws(StoreKeys.Failure) {
        bytes = try keys.open(value, for: .numbers, associated: StoredNumberKey.id.bytes)
      } catch {
        throw Self.damaged("\(error)")
      }
    }
    guard bytes.count == 32 else { throw Self.damaged("it does not have 32 bytes") }
    let found = Secret(wiping: &bytes)
    secrets.withLock { $0 = Secrets(found) }
    // Another instance that does this at the same time seals the same key.
    if let keys, !stored.isSealed || StoreKeys.keyID(of: value) != keys.current.id {
      try await store.replaceNumberKey(stored, by: sealed(found))
    }
  }

  private func sealed(_ secret: Secret) -> StoredNumberKey {
    let bytes = secret.exposedBytes()
    guard let keys else { return StoredNumberKey(value: bytes, isSealed: false) }
    do throws(OpenSSLError) {
      let value = try keys.seal(bytes, for: .numbers, associated: StoredNumberKey.id.bytes)
      return StoredNumberKey(value: value, isSealed: true)
    } catch {
      preconditionFailure("OpenSSL has no randomness: \(error)")
    }
  }

  private static func damaged(_ cause: String) -> StoreError {
    StoreError(
      .damaged, "read the key of phone numbers",
      "\(cause); restore the row of callgate_number_key from a backup")
  }
}
