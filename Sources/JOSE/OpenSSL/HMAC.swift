// Computes message authentication codes from a shared secret.

import COpenSSL

/// Keyed hashing for message authentication (RFC 2104).
public enum HMAC {
  /// The authentication code of a message, as long as the digest's result. The key may have any length, even
  /// zero.
  public static func code(_ message: [UInt8], key: [UInt8], _ digest: DigestAlgorithm) -> [UInt8] {
    key.withUnsafeBytes { code(message, key: $0, digest) }
  }

  /// The authentication code of a message under a secret.
  public static func code(_ message: [UInt8], key: Secret, _ digest: DigestAlgorithm) -> [UInt8] {
    key.withRawBytes { code(message, key: $0, digest) }
  }

  private static func code(
    _ message: [UInt8], key: UnsafeRawBufferPointer, _ digest: DigestAlgorithm
  ) -> [UInt8] {
    let result = [UInt8](unsafeUninitializedCapacity: digest.byteCount) { buffer, count in
      var written: UInt32 = 0
      let done = message.withUnsafeBytes { message in
        // Older code paths of OpenSSL take a null key for "the previous key", so pass an address even for an
        // empty key.
        withUnsafeBytes(of: 0 as UInt8) { nothing in
          COpenSSL.HMAC(
            digest.method.handle, key.baseAddress ?? nothing.baseAddress, Int32(key.count),
            message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count, buffer.baseAddress,
            &written)
        }
      }
      count = done == nil ? 0 : Int(written)
    }
    precondition(result.count == digest.byteCount, "OpenSSL cannot compute HMAC with \(digest.rawValue)")
    return result
  }
}
