// Detects RSA keys from a broken smart-card library (CVE-2017-15361, "ROCA"), which can be factored.

/// The fingerprint of RSA keys made by a broken smart-card library (CVE-2017-15361, "ROCA"): their primes are
/// powers of 65537 modulo many small primes, and so is the modulus. Such keys can be factored; they are
/// refused.
enum ROCA {
  /// The small primes of the library's generator for keys of 2048 bits and more.
  private static let primes: [UInt32] = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103,
    107, 109,
    113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
  ]

  /// Whether a big-endian modulus has the fingerprint. At most one other key in 2^27 has it by chance.
  static func marks(_ modulus: some Collection<UInt8>) -> Bool {
    primes.allSatisfy { prime in
      let residue = modulus.reduce(UInt32(0)) { ($0 << 8 | UInt32($1)) % prime }
      var power: UInt32 = 1
      repeat {
        if power == residue { return true }
        power = power * (65537 % prime) % prime
      } while power != 1
      return false
    }
  }
}
