// Draws unpredictable bytes from OpenSSL's random generator.

import COpenSSL

/// Unpredictable bytes from OpenSSL's generator (`RAND_bytes`), which is safe on every thread.
public enum RandomBytes {
  /// Draws the given number of bytes.
  ///
  /// - Throws: `OpenSSLError` if the generator has no entropy. There is no fallback: a guessable `jti` or key
  ///   is worse than none.
  public static func make(_ count: Int) throws(OpenSSLError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    ERR_clear_error()
    guard bytes.withUnsafeMutableBufferPointer({ RAND_bytes($0.baseAddress, Int32(count)) }) == 1 else {
      throw OpenSSLError(operation: "RAND_bytes")
    }
    return bytes
  }
}
