// Holds secret bytes that never print and that are wiped from memory after use.

import COpenSSL

/// Secret bytes: they print as `<redacted>`, show nothing to `dump`, and are overwritten when the last owner
/// releases them (`OPENSSL_cleanse`, which the optimizer may not remove).
///
/// `@unchecked Sendable`: the buffer is filled in `init` and only read from then on.
public final class Secret: @unchecked Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  private let buffer: UnsafeMutableRawBufferPointer

  /// Copies the bytes. The caller must wipe the original.
  public init(_ bytes: [UInt8]) { buffer = bytes.withUnsafeBytes(Self.copy) }

  /// A copy of bytes that belong to a C library.
  init(_ bytes: UnsafeRawBufferPointer) { buffer = Self.copy(bytes) }

  /// A copy of the text's UTF-8.
  public convenience init(_ text: String) { self.init(Array(text.utf8)) }

  /// Copies the bytes, and overwrites the original unless the array is shared.
  public convenience init(wiping bytes: inout [UInt8]) {
    self.init(bytes)
    wipe(&bytes)
    bytes = []
  }

  private static func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawBufferPointer {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    buffer.copyMemory(from: bytes)
    return buffer
  }

  deinit {
    OPENSSL_cleanse(buffer.baseAddress, buffer.count)
    buffer.deallocate()
  }

  /// The number of bytes.
  public var count: Int { buffer.count }

  /// A copy that is not wiped, for a secret that leaves the process on purpose.
  public func exposedBytes() -> [UInt8] { withRawBytes { Array($0) } }

  /// A copy as text that is not wiped, for a secret that leaves the process on purpose.
  public func exposedString() -> String { withRawBytes { String(decoding: $0, as: UTF8.self) } }

  /// Whether the secret equals the bytes, compared in time that depends on neither content.
  public func isEqual(to bytes: [UInt8]) -> Bool {
    constantTimeEqual(
      digest: withRawBytes { DigestAlgorithm.sha256.digest($0) }, digest: SHA256.digest(bytes))
  }

  func withRawBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    defer { withExtendedLifetime(self) {} }
    return body(UnsafeRawBufferPointer(buffer))
  }

  public var description: String { "<redacted>" }
  public var debugDescription: String { "<redacted>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Overwrites an array in place. Works only on an unshared array; Swift copies a shared one first.
func wipe(_ bytes: inout [UInt8]) {
  bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
}
