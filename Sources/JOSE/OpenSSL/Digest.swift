// Computes SHA-1 and SHA-2 digests with OpenSSL.

import COpenSSL
import Glibc

/// The supported digests. SHA-1 is used for one-time passwords (RFC 4226) only.
public enum DigestAlgorithm: String, CaseIterable, Hashable, Sendable {
  case sha1 = "SHA1"
  case sha256 = "SHA256"
  case sha384 = "SHA384"
  case sha512 = "SHA512"

  /// The length of the result, in bytes.
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

  /// The digest of bytes that do not change during the call.
  func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      write(digestOf: bytes, to: buffer.baseAddress)
      count = byteCount
    }
  }

  /// Writes the digest of bytes to a buffer of `byteCount` bytes.
  fileprivate func write(digestOf bytes: UnsafeRawBufferPointer, to result: UnsafeMutablePointer<UInt8>?) {
    var written: UInt32 = 0
    let status = EVP_Digest(bytes.baseAddress, bytes.count, result, &written, method.handle, nil)
    // A digest in memory fails only if OpenSSL lacks the algorithm, and the server must not run with such a
    // library.
    precondition(status == 1 && written == byteCount, "OpenSSL has no \(rawValue)")
  }

  /// OpenSSL's implementation, fetched once.
  var method: DigestMethod {
    switch self {
    case .sha1: DigestMethod.sha1
    case .sha256: DigestMethod.sha256
    case .sha384: DigestMethod.sha384
    case .sha512: DigestMethod.sha512
    }
  }
}

/// An `EVP_MD`, made by `EVP_MD_fetch` once in the life of the process and never freed: a fetch for every
/// digest (which the older `EVP_sha256()` does inside) costs as much as the digest.
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

/// A SHA-256 context for each thread, because creating one costs two thirds of a short digest. OpenSSL clears
/// the context at the end of a digest. It is freed when the thread ends.
private enum DigestContext {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key) { EVP_MD_CTX_free(OpaquePointer($0)) }
    precondition(status == 0, "no thread-specific data (pthread_key_create(3))")
    return key
  }()

  /// The calling thread's context.
  private static var current: OpaquePointer {
    if let known = pthread_getspecific(key) { return OpaquePointer(known) }
    guard let made = EVP_MD_CTX_new(), pthread_setspecific(key, UnsafeRawPointer(made)) == 0 else {
      preconditionFailure("no memory for a digest")
    }
    return made
  }

  /// Writes the SHA-256 digest of bytes to a buffer of 32 bytes.
  static func write(digestOf bytes: UnsafeRawBufferPointer, to result: UnsafeMutablePointer<UInt8>?) {
    let context = current
    var written: UInt32 = 0
    let isDone =
      EVP_DigestInit_ex2(context, DigestMethod.sha256.handle, nil) == 1
      && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
      && EVP_DigestFinal_ex(context, result, &written) == 1
    precondition(isDone && written == DigestAlgorithm.sha256.byteCount, "OpenSSL has no SHA-256")
  }
}

public enum SHA256 {
  /// The SHA-256 digest: 32 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] { DigestAlgorithm.sha256.digest(bytes) }
}

/// A SHA-256 digest as a value without heap memory: the key of credential tables.
///
/// The time of a comparison does not depend on where two digests differ. Hashing uses only the first word: a
/// table's random seed hides it, and the comparison covers all words.
public struct SHA256Digest: Hashable, Sendable {
  private typealias Words = (UInt64, UInt64, UInt64, UInt64)
  private let words: Words

  /// 32 zero bytes. No input with this digest is known.
  public static let zero = SHA256Digest(words: (0, 0, 0, 0))

  private init(words: Words) { self.words = words }

  /// The digest of bytes.
  public init(of bytes: Span<UInt8>) {
    var words: Words = (0, 0, 0, 0)
    bytes.withUnsafeBytes { bytes in
      withUnsafeMutableBytes(of: &words) { words in
        DigestContext.write(digestOf: bytes, to: words.baseAddress?.assumingMemoryBound(to: UInt8.self))
      }
    }
    self.words = words
  }

  /// The digest of bytes.
  public init(of bytes: [UInt8]) { self.init(of: bytes.span) }

  /// A digest made elsewhere; nil unless it has 32 bytes.
  public init?(_ digest: [UInt8]) {
    guard digest.count == DigestAlgorithm.sha256.byteCount else { return nil }
    var words: Words = (0, 0, 0, 0)
    withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: digest) }
    self.words = words
  }

  /// The first eight bytes as a number: to choose a slot of a table, not to compare.
  public var firstWord: UInt64 { words.0 }

  /// The 32 bytes.
  public var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

  public static func == (a: Self, b: Self) -> Bool {
    (a.words.0 ^ b.words.0) | (a.words.1 ^ b.words.1) | (a.words.2 ^ b.words.2) | (a.words.3 ^ b.words.3) == 0
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}
