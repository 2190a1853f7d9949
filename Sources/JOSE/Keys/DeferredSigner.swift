// Makes a key when something is first signed with it.

import Synchronization

/// A signer that may be made later, once: an RSA key takes a good part of a second.
public final class DeferredSigner: Sendable {
  private let signer: Mutex<Signer?>
  private let make: @Sendable () throws(KeyError) -> Signer

  /// A signer that is there.
  public init(_ signer: Signer) {
    self.signer = Mutex(signer)
    make = { () throws(KeyError) in signer }
  }

  /// A signer that is made when it is first asked for. A failure is tried again.
  public init(making make: @escaping @Sendable () throws(KeyError) -> Signer) {
    signer = Mutex(nil)
    self.make = make
  }

  /// The signer. Those who ask meanwhile wait.
  public func get() throws(KeyError) -> Signer {
    try signer.withLock { (signer: inout Signer?) throws(KeyError) in
      if let signer { return signer }
      let made = try make()
      signer = made
      return made
    }
  }

  /// Whether both are the same, or have the same key. Neither is made for that.
  public static func == (a: DeferredSigner, b: DeferredSigner) -> Bool {
    if a === b { return true }
    guard let key = a.signer.withLock({ $0?.key.publicKey }) else { return false }
    return b.signer.withLock { $0?.key.publicKey } == key
  }
}
