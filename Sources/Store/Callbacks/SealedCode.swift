// A sealed value of a callback, as a store saves it.

public import Gate
import Sealing

/// A verification code, the content of an appointment or the token of a device, sealed with a store key and
/// tied to the id of its callback. A store cannot read it.
public struct SealedCode: Hashable, Sendable {
  public let sealed: [UInt8]
  /// When the value expires. A code expires `keyRetention` after the end of the callback. While the callback
  /// is pending, this is the latest possible time.
  public internal(set) var until: Instant

  package init(_ sealed: [UInt8], until: Instant) {
    self.sealed = sealed
    self.until = until
  }

  /// The id of the key that sealed it, for queries; empty if it is not a sealed value.
  package var key: [UInt8] { StoreKeys.keyID(of: sealed)?.bytes ?? [] }
}
