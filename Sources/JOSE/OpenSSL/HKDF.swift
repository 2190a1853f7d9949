// Derives keys from a secret with HKDF (RFC 5869).

import COpenSSL

/// Keys derived from a key, with SHA-256 (RFC 5869). Another `info` gives another, independent key.
public enum HKDF {
  /// As many bytes as RFC 5869 §2.3 allows: 255 digests.
  static let maximumBytes = 255 * DigestAlgorithm.sha256.byteCount

  /// That many bytes, 1 to 8160, derived from the key.
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
    // It cannot fail on memory it was given; a library without it must not be run with.
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
