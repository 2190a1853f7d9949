// The server's certificate chain and private key, checked against each other.

import COpenSSL

/// A server's identity: its certificate chain and the private key that belongs to it. The key is an
/// `EVP_PKEY`, made by `key(_:)` below, freed by `EVP_PKEY_free` in `deinit`. No byte of the key is ever
/// printed.
///
/// `@unchecked Sendable`: nothing changes after `init`, and OpenSSL lets any number of threads use such a
/// key.
public final class TLSIdentity: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
  /// A fault of a certificate chain, of its key, or of the pair.
  public enum Failure: Error, Hashable, Sendable {
    /// The text contains no certificate.
    case noCertificate
    /// A certificate in the text cannot be read.
    case certificate(TLSFailure)
    /// The text is not a private key that OpenSSL can read, or the key has a passphrase.
    case key(TLSFailure)
    /// The key belongs to a later certificate, the one with this number, counted from 1. The server's own
    /// certificate must come first.
    case order(Int)
    /// The key belongs to none of the certificates.
    case mismatch
    /// OpenSSL refuses to use the chain and the key, for example because they are too weak.
    case refused(TLSFailure)
  }

  let key: OpaquePointer
  /// The chain, the server's own certificate first.
  public let chain: [Certificate]
  /// The key's type and size: `EC, 256 bits`.
  public let keyType: String

  /// Reads a chain and a key, and checks that they belong together.
  ///
  /// - Parameters:
  ///   - chain: The certificates as PEM: the server's first, then those of its issuers.
  ///   - key: An unencrypted private key of any type that OpenSSL can use for TLS, as PEM or DER.
  /// - Throws: The fault of the chain, of the key, or of the pair.
  public init(chain text: [UInt8], key keyText: [UInt8]) throws(Failure) {
    do throws(TLSFailure) {
      chain = try Certificate.chain(pem: text)
    } catch {
      throw .certificate(error)
    }
    guard let leaf = chain.first else { throw .noCertificate }
    do throws(TLSFailure) {
      key = try Self.key(keyText)
    } catch {
      throw .key(error)
    }
    keyType = Self.type(of: key)
    TLSFailure.forget()
    guard X509_check_private_key(leaf.handle, key) == 1 else {
      let owner = chain.firstIndex { X509_check_private_key($0.handle, key) == 1 }
      ERR_clear_error()
      throw owner.map { .order($0 + 1) } ?? .mismatch
    }
    do throws(TLSFailure) {
      _ = try TLSContext(self, tickets: nil)
    } catch {
      throw .refused(error)
    }
  }

  deinit { EVP_PKEY_free(key) }

  /// The server's own certificate.
  public var certificate: Certificate {
    guard let first = chain.first else { preconditionFailure("init has refused an empty chain") }
    return first
  }

  /// Whether two identities are the same: the same certificates, and therefore the same key.
  public func isSame(as other: TLSIdentity) -> Bool {
    chain.map(\.fingerprint) == other.chain.map(\.fingerprint)
  }

  /// Warnings about the identity, for operators: certificates that have expired, expire soon or are not
  /// valid yet, a missing `subjectAltName`, and a chain in the wrong order. Clients may refuse the identity
  /// for each of them, except for an expiry in the future.
  ///
  /// - Parameters:
  ///   - time: The time for which the identity is checked, in seconds since 1970-01-01T00:00:00Z.
  ///   - date: Formats such a time.
  public func complaints(at time: Int64, date: (Int64) -> String) -> [String] {
    var complaints: [String] = []
    let leaf = certificate
    for (index, one) in chain.enumerated() {
      let which = index == 0 ? "the certificate" : "certificate \(index + 1) of the chain (\(one.subject))"
      if one.notAfter < time {
        complaints.append("\(which) expired at \(date(one.notAfter)): clients refuse it")
      } else if one.notBefore > time {
        complaints.append("\(which) is not valid before \(date(one.notBefore)): clients refuse it until then")
      } else if one.notAfter - time < Self.noticePeriod {
        complaints.append("\(which) expires at \(date(one.notAfter)): renew it")
      }
    }
    if leaf.names.isEmpty {
      complaints.append("the certificate has no subjectAltName: clients refuse it for every host name")
    }
    for (index, pair) in zip(chain, chain.dropFirst()).enumerated() where !pair.0.isIssued(by: pair.1) {
      complaints.append(
        "certificate \(index + 2) of the chain did not issue the one before it: clients may refuse the chain")
    }
    return complaints
  }

  /// How long before its expiry a certificate gets a warning: two weeks, in seconds. 90-day certificates
  /// are usually renewed about 30 days before they expire, so by then a renewal has failed for two weeks.
  private static let noticePeriod: Int64 = 14 * 86_400

  public var description: String { "\(certificate.subject) (\(keyType))" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }

  // MARK: -

  private static func key(_ text: [UInt8]) throws(TLSFailure) -> OpaquePointer {
    TLSFailure.forget()
    let bio = BIO_new(BIO_s_secmem())
    defer { BIO_free(bio) }
    var written = 0
    guard BIO_write_ex(bio, text, text.count, &written) == 1 else { throw TLSFailure("BIO_write_ex") }
    if let key = PEM_read_bio_PrivateKey(bio, nil, noPassphrase, nil) { return key }
    let failure = TLSFailure("PEM_read_bio_PrivateKey")
    let key = text.withUnsafeBufferPointer { buffer in
      var cursor = buffer.baseAddress
      return d2i_AutoPrivateKey(nil, &cursor, buffer.count)
    }
    ERR_clear_error()
    guard let key else { throw failure }
    return key
  }

  private static func type(of key: OpaquePointer) -> String {
    let name = EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "unknown"
    return "\(name), \(EVP_PKEY_get_bits(key)) bits"
  }
}
