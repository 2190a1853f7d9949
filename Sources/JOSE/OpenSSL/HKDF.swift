// Derives keys from a secret with HKDF (RFC 5869).

import COpenSSL

/// Derives keys from a key with SHA-256 (RFC 5869). Each `info` results in an independent key.
public enum HKDF {
  /// The limit of RFC 5869 §2.3: 255 digests.
  static let maximumBytes = 255 * DigestAlgorithm.sha256.byteCount

  /// Derives 1 to 8160 bytes from the key.
  public static func derive(
    from key: Secret, salt: [UInt8] = [], info: [UInt8], count: Int
  ) -> Secret {
    precondition((1...maximumBytes).contains(count))
    guard let context = EVP_KDF_CTX_new(Method.shared.handle) else {
      preconditionFailure("OpenSSL has no memory for HKDF")
    }
    defer { EVP_KDF_CTX_free(context) }
    var bytes = [UInt8](repeating: 0, count: count)
    let status = key.withRawBytes { key in
      salt.withUnsafeBytes { salt in
        info.withUnsafeBytes { info in
          bytes.withUnsafeMutableBufferPointer { result in
            callgate_hkdf_sha256(
              context, key.baseAddress, key.count, salt.baseAddress, salt.count, info.baseAddress, info.count,
              result.baseAddress, result.count)
          }
        }
      }
    }
    // HKDF in memory fails only if OpenSSL lacks it, and the server must not run with such a library.
    precondition(status == 1, "OpenSSL cannot compute HKDF with SHA-256")
    return Secret(wiping: &bytes)
  }

  /// An `EVP_KDF`, made by `EVP_KDF_fetch` once in the life of the process and never freed.
  ///
  /// `@unchecked Sendable`: the structure is immutable once fetched and OpenSSL shares it between threads.
  private final class Method: @unchecked Sendable {
    static let shared = Method()
    let handle: OpaquePointer

    private init() {
      guard let handle = EVP_KDF_fetch(nil, "HKDF", nil) else { preconditionFailure("OpenSSL has no HKDF") }
      self.handle = handle
    }
  }
}
