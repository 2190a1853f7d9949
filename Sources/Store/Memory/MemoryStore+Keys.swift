// The store keys of the store in memory.

public import Gate
public import Sealing
import Synchronization

extension MemoryStore {
  public func keys() -> [KeyInUse] { keysInUse.withLock { $0.map(counted) } }

  /// A key with the end of its sealed values.
  private func counted(_ key: KeyInUse) -> KeyInUse {
    let (until, isOpen) = callbacks.withLock { ($0.sealedUntil(key.mark.id), $0.hasOpen(key.mark.id)) }
    return KeyInUse(key.mark, since: key.since, sealedUntil: until, isOpen: isOpen)
  }

  public func updateKeys(
    at now: Instant, _ judge: @escaping @Sendable ([KeyInUse]) -> KeyRuling
  ) -> KeyRuling {
    keysInUse.withLock { keys in
      let ruling = judge(keys.map(counted))
      guard case .usable(let changes) = ruling else { return ruling }
      keys.removeAll { changes.removed.contains($0.mark.id) }
      if let added = changes.added { keys.append(KeyInUse(added, since: now.seconds)) }
      return ruling
    }
  }

  public func reseal(
    _ key: StoreKeyID, _ seal: @escaping @Sendable (SealedValue) -> [UInt8]?
  ) -> Int {
    callbacks.withLock { $0.reseal(key, seal) }
  }
}
