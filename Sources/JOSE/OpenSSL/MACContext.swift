// Computes many HMAC-SHA-256 codes under one key, without preparing the key for each.

import COpenSSL

/// HMAC-SHA-256 (RFC 2104) under one key, for many messages.
///
/// `EVP_MAC_CTX_new` makes the context, `EVP_MAC_CTX_free` frees it and wipes the key. One thread at a time
/// may use it.
public struct MACContext: ~Copyable {
  private let context: OpaquePointer

  /// The HMAC implementation, fetched by `EVP_MAC_fetch` once in the life of the process. The structure is
  /// immutable and shared between threads.
  private struct Method: @unchecked Sendable {
    let handle: OpaquePointer?
    static let hmac = Method(handle: EVP_MAC_fetch(nil, "HMAC", nil))
  }

  /// A context for a key.
  public init(key: Secret) {
    guard let made = EVP_MAC_CTX_new(Method.hmac.handle) else {
      preconditionFailure("OpenSSL has no HMAC")
    }
    context = made
    var name = Array("SHA2-256".utf8CString)
    let status = name.withUnsafeMutableBufferPointer { name in
      let parameters = [
        OSSL_PARAM_construct_utf8_string("digest", name.baseAddress, 0), OSSL_PARAM_construct_end(),
      ]
      return key.withRawBytes {
        EVP_MAC_init(context, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count, parameters)
      }
    }
    precondition(status == 1, "OpenSSL cannot compute HMAC with SHA-256")
  }

  deinit { EVP_MAC_CTX_free(context) }

  /// The first 16 bytes of the code of `prefix` and `message` together.
  public mutating func code(_ prefix: [UInt8], _ message: Span<UInt8>) -> [UInt8] {
    // Without a key, OpenSSL reuses the previous one.
    var status = EVP_MAC_init(context, nil, 0, nil)
    status &= prefix.withUnsafeBufferPointer { EVP_MAC_update(context, $0.baseAddress, $0.count) }
    status &= message.withUnsafeBufferPointer { EVP_MAC_update(context, $0.baseAddress, $0.count) }
    return [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      var written = 0
      status &= EVP_MAC_final(context, buffer.baseAddress, &written, 32)
      precondition(status == 1 && written == 32, "OpenSSL cannot compute HMAC with SHA-256")
      count = 16
    }
  }
}
