internal import COpenSSL

/// The digests in use here. SHA-1 serves one-time passwords (RFC 4226) and nothing else.
public enum DigestAlgorithm: String, CaseIterable, Hashable, Sendable {
  case sha1 = "SHA1"
  case sha256 = "SHA256"
  case sha384 = "SHA384"
  case sha512 = "SHA512"

  /// Bytes of the result.
  public var byteCount: Int {
    switch self {
    case .sha1: 20
    case .sha256: 32
    case .sha384: 48
    case .sha512: 64
    }
  }

  /// The digest of the bytes (FIPS 180-4).
  public func digest(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { digest($0) } }

  /// The digest of bytes that stand still for the length of the call.
  func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let result = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      var written: UInt32 = 0
      let status = EVP_Digest(
        bytes.baseAddress, bytes.count, buffer.baseAddress, &written, method.handle, nil)
      count = status == 1 ? Int(written) : 0
    }
    // These digests cannot fail on memory they were given; a library without them must not be run with.
    precondition(result.count == byteCount, "OpenSSL has no \(rawValue)")
    return result
  }

  /// The fetched implementation.
  var method: DigestMethod {
    switch self {
    case .sha1: DigestMethod.sha1
    case .sha256: DigestMethod.sha256
    case .sha384: DigestMethod.sha384
    case .sha512: DigestMethod.sha512
    }
  }
}

/// An `EVP_MD`, made by `EVP_MD_fetch` once in the life of the process and never freed: a fetch for every digest
/// (which the older `EVP_sha256()` does inside) costs as much as the digest.
///
/// `@unchecked Sendable`: the structure is immutable once fetched and OpenSSL shares it between threads.
final class DigestMethod: @unchecked Sendable {
  let handle: OpaquePointer

  static let sha1 = DigestMethod("SHA1")
  static let sha256 = DigestMethod("SHA2-256")
  static let sha384 = DigestMethod("SHA2-384")
  static let sha512 = DigestMethod("SHA2-512")

  private init(_ name: String) {
    guard let handle = EVP_MD_fetch(nil, name, nil) else { preconditionFailure("OpenSSL has no \(name)") }
    self.handle = handle
  }
}

/// SHA-1, for one-time passwords only.
public enum SHA1 {
  /// 20 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] { DigestAlgorithm.sha1.digest(bytes) }
}

/// SHA-256.
public enum SHA256 {
  /// 32 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] { DigestAlgorithm.sha256.digest(bytes) }
}

/// SHA-384.
public enum SHA384 {
  /// 48 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] { DigestAlgorithm.sha384.digest(bytes) }
}

/// SHA-512.
public enum SHA512 {
  /// 64 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] { DigestAlgorithm.sha512.digest(bytes) }
}
