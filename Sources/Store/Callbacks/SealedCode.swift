// A verification code, an appointment's content or a device token, sealed for the store.

public import Gate
import Sealing

/// A verification code, the content of an appointment or the token of a device, sealed with a store key and
/// tied to the id of its callback. The store cannot read it.
public struct SealedCode: Hashable, Sendable {
  public let sealed: [UInt8]
  /// When the value expires. Until the callback ends, this is the latest possible time. A code expires
  /// `keyRetention` after the end of the callback.
  public internal(set) var until: Instant

  package init(_ sealed: [UInt8], until: Instant) {
    self.sealed = sealed
    self.until = until
  }

  /// The id of the key that sealed the value, for queries; empty if the bytes are not a sealed value.
  package var key: [UInt8] { StoreKeys.keyID(of: sealed)?.bytes ?? [] }
}
