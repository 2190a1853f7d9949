// The verification code of a callback, as a store keeps it.

public import Gate
import Sealing

/// A verification code, sealed with a store key and tied to the id of its callback. A store cannot read it.
public struct SealedCode: Hashable, Sendable {
  /// The sealed value.
  public let sealed: [UInt8]
  /// When it is forgotten: the end of the callback and `keyRetention`. While the callback is pending, the latest time that can be.
  public internal(set) var until: Instant

  package init(_ sealed: [UInt8], until: Instant) {
    self.sealed = sealed
    self.until = until
  }

  /// The name of the key that sealed it, for queries; nil if it is not a sealed value.
  package var key: [UInt8] { StoreKeys.keyID(of: sealed)?.bytes ?? [] }
}
