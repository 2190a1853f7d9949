// Creates a signer, and its key, when it is first used.

import Synchronization

/// A signer that can be created on first use, because generating an RSA key takes a good part of a second.
public final class DeferredSigner: Sendable {
  private let signer: Mutex<Signer?>
  private let make: @Sendable () throws(KeyError) -> Signer

  /// Wraps an existing signer.
  public init(_ signer: Signer) {
    self.signer = Mutex(signer)
    make = { () throws(KeyError) in signer }
  }

  /// Stores a function that creates the signer at the first call of `get`. After a failure, the next call
  /// tries again.
  public init(making make: @escaping @Sendable () throws(KeyError) -> Signer) {
    signer = Mutex(nil)
    self.make = make
  }

  /// The signer, created by the first call. Other calls wait meanwhile.
  public func get() throws(KeyError) -> Signer {
    try signer.withLock { (signer: inout Signer?) throws(KeyError) in
      if let signer { return signer }
      let made = try make()
      signer = made
      return made
    }
  }

  /// Whether both are the same object, or both have signers with the same key already. Comparing creates no
  /// signer.
  public static func == (a: DeferredSigner, b: DeferredSigner) -> Bool {
    if a === b { return true }
    guard let key = a.signer.withLock({ $0?.key.publicKey }) else { return false }
    return b.signer.withLock { $0?.key.publicKey } == key
  }
}
