// Compares secrets in a time that does not reveal where they differ.

import COpenSSL

/// Whether two byte strings are the same, in time that tells nothing of where or in how much they differ.
///
/// Both are reduced to SHA-256 first and the digests compared with `CRYPTO_memcmp`, so that strings of different
/// length take the same path as those of the same length.
public func constantTimeEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  constantTimeEqual(digest: SHA256.digest(a), digest: SHA256.digest(b))
}

/// Whether two digests are the same, for those that are digests already: no second hashing. False when their lengths
/// differ, which for digests is no secret.
public func constantTimeEqual(digest a: [UInt8], digest b: [UInt8]) -> Bool {
  guard a.count == b.count else { return false }
  return a.withUnsafeBytes { a in
    b.withUnsafeBytes { b in CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) }
  } == 0
}
