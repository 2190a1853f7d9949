// Compares secrets in a time that does not reveal where they differ.

import COpenSSL

/// Whether two byte strings are equal. The time does not reveal where or by how much they differ.
///
/// Both are hashed with SHA-256 and the digests compared with `CRYPTO_memcmp`, so strings of different
/// lengths take the same path as strings of equal length.
public func constantTimeEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  constantTimeEqual(digest: SHA256.digest(a), digest: SHA256.digest(b))
}

/// Whether two digests are equal, without hashing them again. False if their lengths differ: the length of a
/// digest is no secret.
public func constantTimeEqual(digest a: [UInt8], digest b: [UInt8]) -> Bool {
  guard a.count == b.count else { return false }
  return a.withUnsafeBytes { a in
    b.withUnsafeBytes { b in CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) }
  } == 0
}
