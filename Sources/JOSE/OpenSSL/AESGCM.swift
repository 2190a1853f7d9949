// Encrypts and authenticates bytes with AES-256-GCM.

import COpenSSL

/// A key for AES-256-GCM (NIST SP 800-38D), with a nonce of 96 random bits for each message and a tag of 128
/// bits.
///
/// Random nonces allow 2³² messages under one key (§8.3). Derive a key for each purpose.
public struct AESGCM: Sendable {
  /// The error when sealed bytes cannot be opened. It does not reveal which part is wrong.
  public struct BrokenSeal: Error, Hashable, Sendable {}

  /// The length of a key, in bytes.
  public static let keyByteCount = 32
  /// The number of bytes that sealing adds: the nonce in front, the tag at the end.
  public static let overhead = nonceByteCount + tagByteCount
  private static let nonceByteCount = 12
  private static let tagByteCount = 16

  private let key: Secret

  /// Creates a cipher from a key of 32 bytes.
  public init(_ key: Secret) {
    precondition(key.count == Self.keyByteCount)
    self.key = key
  }

  /// Encrypts a message, and returns nonce, ciphertext and tag. `associated` is authenticated but not
  /// included: opening needs the same bytes.
  public func seal(_ plaintext: [UInt8], associated: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    try seal(plaintext, associated: associated, nonce: RandomBytes.make(Self.nonceByteCount))
  }

  /// Encrypts with a given nonce, for published test vectors only: a nonce used twice exposes both messages
  /// and the authentication key.
  func seal(_ plaintext: [UInt8], associated: [UInt8], nonce: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    precondition(nonce.count == Self.nonceByteCount)
    let context = CipherContext()
    ERR_clear_error()
    var sealed = nonce + [UInt8](repeating: 0, count: plaintext.count + Self.tagByteCount)
    let isDone = sealed.withUnsafeMutableBufferPointer { sealed in
      guard let start = sealed.baseAddress, context.begin(key, nonce: start, isSealing: 1),
        context.update(nil, associated),
        context.update(start + Self.nonceByteCount, plaintext)
      else { return false }
      let tag = start + Self.nonceByteCount + plaintext.count
      return context.finish(tag) && context.control(EVP_CTRL_AEAD_GET_TAG, Self.tagByteCount, tag)
    }
    guard isDone else { throw OpenSSLError(operation: "EVP_EncryptUpdate") }
    return sealed
  }

  /// Decrypts what was sealed with this key and the same associated bytes.
  public func open(_ sealed: [UInt8], associated: [UInt8]) throws(BrokenSeal) -> [UInt8] {
    let count = sealed.count - Self.overhead
    guard count >= 0 else { throw BrokenSeal() }
    let context = CipherContext()
    // One byte more: an empty message needs an address, too.
    var plaintext = [UInt8](repeating: 0, count: count + 1)
    var tag = Array(sealed[(sealed.count - Self.tagByteCount)...])
    let ciphertext = Array(sealed[Self.nonceByteCount..<(Self.nonceByteCount + count)])
    let isDone = plaintext.withUnsafeMutableBufferPointer { plaintext in
      tag.withUnsafeMutableBufferPointer { tag in
        sealed.withUnsafeBufferPointer { sealed in
          guard let result = plaintext.baseAddress, let tag = tag.baseAddress, let nonce = sealed.baseAddress
          else { return false }
          return context.begin(key, nonce: nonce, isSealing: 0) && context.update(nil, associated)
            && context.update(result, ciphertext)
            && context.control(EVP_CTRL_AEAD_SET_TAG, Self.tagByteCount, tag)
            && context.finish(result + count)
        }
      }
    }
    guard isDone else {
      // The plaintext was decrypted before the tag was compared: wipe it.
      wipe(&plaintext)
      ERR_clear_error()
      throw BrokenSeal()
    }
    plaintext.removeLast()
    return plaintext
  }
}

/// An `EVP_CIPHER_CTX` for one message. The thread that creates it frees it with `EVP_CIPHER_CTX_free`, which
/// also wipes it.
private final class CipherContext {
  private let handle: OpaquePointer

  init() {
    guard let handle = EVP_CIPHER_CTX_new() else { preconditionFailure("OpenSSL has no memory for a cipher") }
    self.handle = handle
  }

  deinit { EVP_CIPHER_CTX_free(handle) }

  /// Sets key and nonce.
  func begin(_ key: Secret, nonce: UnsafePointer<UInt8>, isSealing: Int32) -> Bool {
    key.withRawBytes { key in
      EVP_CipherInit_ex2(
        handle, CipherMethod.shared.handle, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce,
        isSealing, nil) == 1
    }
  }

  /// Processes bytes: as part of the message if there is a result, as associated bytes if there is none.
  func update(_ result: UnsafeMutablePointer<UInt8>?, _ bytes: [UInt8]) -> Bool {
    guard !bytes.isEmpty else { return true }
    var written: Int32 = 0
    return EVP_CipherUpdate(handle, result, &written, bytes, Int32(bytes.count)) == 1
  }

  /// Ends the message. When opening, OpenSSL compares the tag here. GCM writes nothing to the result.
  func finish(_ result: UnsafeMutablePointer<UInt8>) -> Bool {
    var written: Int32 = 0
    return EVP_CipherFinal_ex(handle, result, &written) == 1
  }

  func control(_ command: Int32, _ count: Int, _ pointer: UnsafeMutableRawPointer) -> Bool {
    EVP_CIPHER_CTX_ctrl(handle, command, Int32(count), pointer) == 1
  }
}

/// An `EVP_CIPHER`, made by `EVP_CIPHER_fetch` once in the life of the process and never freed.
///
/// `@unchecked Sendable`: the structure is immutable once fetched and OpenSSL shares it between threads.
private final class CipherMethod: @unchecked Sendable {
  static let shared = CipherMethod()
  let handle: OpaquePointer

  private init() {
    guard let handle = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
      preconditionFailure("OpenSSL has no AES-256-GCM")
    }
    self.handle = handle
  }
}
