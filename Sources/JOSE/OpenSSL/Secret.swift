// Holds secret bytes that never print and that are wiped from memory after use.

import COpenSSL

/// Bytes that must not be seen: prints as `<redacted>`, shows nothing to `dump`, and is overwritten when the last
/// owner lets go (`OPENSSL_cleanse`, which the optimiser may not remove).
///
/// `@unchecked Sendable`: the buffer is filled in `init` and only read from then on.
public final class Secret: @unchecked Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  private let buffer: UnsafeMutableRawBufferPointer

  /// A copy of the bytes. The original is the caller's to wipe.
  public init(_ bytes: [UInt8]) { buffer = bytes.withUnsafeBytes(Self.copy) }

  /// A copy of bytes that belong to a C library.
  init(_ bytes: UnsafeRawBufferPointer) { buffer = Self.copy(bytes) }

  /// A copy of the text's UTF-8.
  public convenience init(_ text: String) { self.init(Array(text.utf8)) }

  /// A copy of the bytes, which are overwritten where they stood unless someone else holds them too.
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

  /// How many bytes.
  public var count: Int { buffer.count }

  /// A copy that is not wiped, for a secret that leaves the process on purpose.
  public func exposedBytes() -> [UInt8] { withRawBytes { Array($0) } }

  /// A copy as text that is not wiped, for a secret that leaves the process on purpose.
  public func exposedString() -> String { withRawBytes { String(decoding: $0, as: UTF8.self) } }

  /// Whether the bytes are these, in time that depends on neither content.
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
