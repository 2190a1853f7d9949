// The keys that encrypt TLS session tickets, replaced at intervals and kept in memory only.

import COpenSSL
import Platform
import Synchronization

/// The keys that seal session tickets (RFC 5077 §4): the current key, and the one before it, which still
/// opens its tickets until they expire. Keys exist in memory only, and are wiped when they are dropped.
///
/// All contexts of a listener share one object, so that clients can resume their sessions after the
/// certificate has changed.
final class TicketKeys: Sendable {
  /// How long a ticket is valid, and how long a key seals new tickets. After twice this time, all tickets
  /// of a key have expired.
  static let lifetime = Duration.seconds(2 * 3600)

  /// A ticket key: its name (16 octets), which each of its tickets carries, then a key for AES-256-CBC and
  /// one for HMAC-SHA-256 (32 octets each).
  private struct Key {
    static let nameLength = 16
    var octets: [UInt8]
    let madeAt: MonotonicTime

    init(at time: MonotonicTime) {
      octets = [UInt8](repeating: 0, count: Self.nameLength + 32 + 32)
      precondition(RAND_bytes(&octets, Int32(octets.count)) == 1, "no randomness")
      madeAt = time
    }

    mutating func wipe() { octets.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
  }

  private struct Keys {
    var current: Key
    var previous: Key?
  }

  private let time: any TimeSource
  private let keys: Mutex<Keys>

  init(time: any TimeSource) {
    self.time = time
    keys = Mutex(Keys(current: Key(at: time.now), previous: nil))
  }

  deinit {
    keys.withLock { keys in
      keys.current.wipe()
      keys.previous?.wipe()
    }
  }

  /// Makes a context seal and open its tickets with these keys. The keys must outlive the context.
  static func attach(_ keys: TicketKeys, to context: OpaquePointer) {
    SSL_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(keys).toOpaque())
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context) { session, name, vector, cipher, mac, seals in
      guard let context = SSL_get_SSL_CTX(session), let data = SSL_CTX_get_ex_data(context, 0), let name
      else { return -1 }
      let keys = Unmanaged<TicketKeys>.fromOpaque(data).takeUnretainedValue()
      return seals == 1 ? keys.seal(name, vector, cipher, mac) : keys.open(name, vector, cipher, mac)
    }
  }

  // MARK: - Results for OpenSSL

  // SSL_CTX_set_tlsext_ticket_key_evp_cb(3): -1 is an error, 0 an unknown key, 1 the current key, and 2 the
  // previous key, after which the client gets a new ticket.

  private func seal(
    _ name: UnsafeMutablePointer<UInt8>, _ vector: UnsafeMutablePointer<UInt8>?, _ cipher: OpaquePointer?,
    _ mac: OpaquePointer?
  ) -> Int32 {
    let now = time.now
    return keys.withLock { keys in
      rotate(&keys, now)
      name.update(from: keys.current.octets, count: Key.nameLength)
      guard RAND_bytes(vector, EVP_CIPHER_get_iv_length(Self.cipher.handle)) == 1 else { return -1 }
      return Self.prepare(keys.current, cipher, mac) { EVP_EncryptInit_ex2(cipher, $0, $1, vector, nil) }
    }
  }

  private func open(
    _ name: UnsafeMutablePointer<UInt8>, _ vector: UnsafeMutablePointer<UInt8>?, _ cipher: OpaquePointer?,
    _ mac: OpaquePointer?
  ) -> Int32 {
    let now = time.now
    return keys.withLock { keys in
      rotate(&keys, now)
      let wanted = UnsafeBufferPointer(start: name, count: Key.nameLength)
      let isCurrent = wanted.elementsEqual(keys.current.octets[..<Key.nameLength])
      let isPrevious = keys.previous.map { wanted.elementsEqual($0.octets[..<Key.nameLength]) } ?? false
      guard let key = isCurrent ? keys.current : isPrevious ? keys.previous : nil else { return 0 }
      let status = Self.prepare(key, cipher, mac) { EVP_DecryptInit_ex2(cipher, $0, $1, vector, nil) }
      return status == 1 && !isCurrent ? 2 : status
    }
  }

  private func rotate(_ keys: inout Keys, _ now: MonotonicTime) {
    let age = now.age(since: keys.current.madeAt)
    guard age >= Self.lifetime else { return }
    keys.previous?.wipe()
    // A key older than twice its lifetime has no valid ticket left to open.
    if age < Self.lifetime * 2 {
      keys.previous = keys.current
    } else {
      keys.current.wipe()
      keys.previous = nil
    }
    keys.current = Key(at: now)
  }

  private static func prepare(
    _ key: Key, _ cipher: OpaquePointer?, _ mac: OpaquePointer?,
    _ start: (OpaquePointer, UnsafePointer<UInt8>) -> Int32
  ) -> Int32 {
    key.octets.withUnsafeBufferPointer { octets in
      guard let base = octets.baseAddress, start(Self.cipher.handle, base + Key.nameLength) == 1 else {
        return -1
      }
      return callgate_hmac_sha256(mac, base + Key.nameLength + 32, 32) == 1 ? 1 : -1
    }
  }

  /// AES-256-CBC: an `EVP_CIPHER`, fetched once per process and never freed.
  ///
  /// `@unchecked Sendable`: the structure is immutable once fetched and OpenSSL shares it between threads.
  private final class Cipher: @unchecked Sendable {
    let handle: OpaquePointer
    init(_ name: String) {
      guard let handle = EVP_CIPHER_fetch(nil, name, nil) else {
        preconditionFailure("OpenSSL has no \(name)")
      }
      self.handle = handle
    }
  }

  private static let cipher = Cipher("AES-256-CBC")
}
