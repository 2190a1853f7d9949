// Reuses OpenSSL's signing and verification contexts, because creating one costs a fifth of a signature.

import COpenSSL
import Synchronization

/// The OpenSSL contexts for signing or verifying: an `EVP_PKEY_CTX` and an `EVP_MD_CTX`. They are reused,
/// because creating them costs a fifth of an ES256 signature. Freed in `deinit`.
///
/// `@unchecked Sendable`: a context serves one thread at a time; `SignatureContextPool` lends each to one
/// caller only.
final class SignatureContext: @unchecked Sendable {
  enum Direction { case sign, verify }

  private let key: PKey
  private let algorithm: SignatureAlgorithm
  private let keyContext: OpaquePointer?
  private let digestContext: OpaquePointer

  init(key: PKey, algorithm: SignatureAlgorithm, _ direction: Direction) throws(OpenSSLError) {
    ERR_clear_error()
    guard let digestContext = EVP_MD_CTX_new() else { throw OpenSSLError(operation: "EVP_MD_CTX_new") }
    self.digestContext = digestContext
    self.key = key
    self.algorithm = algorithm
    guard let digest = algorithm.digest else {
      keyContext = nil
      return
    }
    keyContext = EVP_PKEY_CTX_new_from_pkey(nil, key.handle, nil)
    // From here deinit runs when this throws, and frees both.
    let started = direction == .sign ? EVP_PKEY_sign_init(keyContext) : EVP_PKEY_verify_init(keyContext)
    guard started == 1 else {
      throw OpenSSLError(operation: direction == .sign ? "EVP_PKEY_sign_init" : "EVP_PKEY_verify_init")
    }
    try configure(digest)
  }

  deinit {
    EVP_PKEY_CTX_free(keyContext)
    EVP_MD_CTX_free(digestContext)
  }

  private func configure(_ digest: DigestAlgorithm) throws(OpenSSLError) {
    guard EVP_PKEY_CTX_set_signature_md(keyContext, digest.method.handle) == 1 else {
      throw OpenSSLError(operation: "EVP_PKEY_CTX_set_signature_md")
    }
    switch algorithm.scheme {
    case .rsaPKCS1:
      guard EVP_PKEY_CTX_set_rsa_padding(keyContext, RSA_PKCS1_PADDING) == 1 else {
        throw OpenSSLError(operation: "EVP_PKEY_CTX_set_rsa_padding")
      }
    case .rsaPSS:
      // RFC 7518 §3.5: the mask function uses the same digest, the salt is as long as its result.
      guard EVP_PKEY_CTX_set_rsa_padding(keyContext, RSA_PKCS1_PSS_PADDING) == 1,
        EVP_PKEY_CTX_set_rsa_mgf1_md(keyContext, digest.method.handle) == 1,
        EVP_PKEY_CTX_set_rsa_pss_saltlen(keyContext, Int32(digest.byteCount)) == 1
      else { throw OpenSSLError(operation: "EVP_PKEY_CTX_set_rsa_padding") }
    case .ecdsa, .edDSA: break
    }
  }

  /// The signature as OpenSSL writes it: DER for ECDSA.
  func sign(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    ERR_clear_error()
    var status: Int32 = 0
    // As long as this key's longest signature, and no longer: malloc consolidates all its free lists for
    // anything of a kilobyte or more.
    let capacity = Int(EVP_PKEY_get_size(key.handle))
    let signature = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
      var length = buffer.count
      status = message.withUnsafeBufferPointer { message -> Int32 in
        guard let keyContext else {
          guard EVP_DigestSignInit(digestContext, nil, nil, nil, key.handle) == 1 else { return 0 }
          return EVP_DigestSign(
            digestContext, buffer.baseAddress, &length, message.baseAddress, message.count)
        }
        return withDigest(of: message) { digest, size in
          EVP_PKEY_sign(keyContext, buffer.baseAddress, &length, digest, size)
        }
      }
      count = status == 1 ? length : 0
    }
    guard status == 1 else {
      throw OpenSSLError(operation: keyContext == nil ? "EVP_DigestSign" : "EVP_PKEY_sign")
    }
    return signature
  }

  /// Whether a signature in OpenSSL's form is valid for the message.
  func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    // A wrong signature leaves entries in OpenSSL's error queue; the next failure must not inherit them.
    defer { ERR_clear_error() }
    let status = message.withUnsafeBufferPointer { message in
      signature.withUnsafeBufferPointer { signature -> Int32 in
        guard let keyContext else {
          guard EVP_DigestVerifyInit(digestContext, nil, nil, nil, key.handle) == 1 else { return 0 }
          return EVP_DigestVerify(
            digestContext, signature.baseAddress, signature.count, message.baseAddress, message.count)
        }
        return withDigest(of: message) { digest, size in
          EVP_PKEY_verify(keyContext, signature.baseAddress, signature.count, digest, size)
        }
      }
    }
    return status == 1
  }

  private func withDigest(
    of message: UnsafeBufferPointer<UInt8>, _ body: (UnsafePointer<UInt8>?, Int) -> Int32
  ) -> Int32 {
    guard let digest = algorithm.digest else { return 0 }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
      var size: UInt32 = 0
      guard EVP_DigestInit_ex2(digestContext, digest.method.handle, nil) == 1,
        EVP_DigestUpdate(digestContext, message.baseAddress, message.count) == 1,
        EVP_DigestFinal_ex(digestContext, buffer.baseAddress, &size) == 1
      else { return 0 }
      return body(buffer.baseAddress, Int(size))
    }
  }
}

/// Lends contexts of one key and algorithm, one to a caller at a time, and keeps as many as were ever needed
/// at once (at most `kept`).
final class SignatureContextPool: Sendable {
  private static let kept = 16

  private let key: PKey
  private let algorithm: SignatureAlgorithm
  private let direction: SignatureContext.Direction
  private let idle = Mutex<[SignatureContext]>([])

  init(key: PKey, algorithm: SignatureAlgorithm, _ direction: SignatureContext.Direction) {
    self.key = key
    self.algorithm = algorithm
    self.direction = direction
  }

  func with<Result>(_ body: (SignatureContext) throws(OpenSSLError) -> Result) throws(OpenSSLError) -> Result
  {
    let context: SignatureContext
    if let waiting = idle.withLock({ $0.popLast() }) {
      context = waiting
    } else {
      context = try SignatureContext(key: key, algorithm: algorithm, direction)
    }
    let result = try body(context)
    // A context that has failed is dropped with its error instead of being lent again.
    idle.withLock { if $0.count < Self.kept { $0.append(context) } }
    return result
  }
}
