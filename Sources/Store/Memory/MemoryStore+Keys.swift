// The store keys of the store in memory.

public import Gate
import Sealing
import Synchronization

extension MemoryStore {
  public func keys() -> [KeyInUse] { keysInUse.withLock { $0 } }

  public func updateKeys(
    at now: Instant, _ judge: @escaping @Sendable ([KeyInUse]) -> KeyRuling
  ) -> KeyRuling {
    keysInUse.withLock { keys in
      let ruling = judge(keys)
      guard case .usable(let changes) = ruling else { return ruling }
      keys.removeAll { changes.removed.contains($0.mark.id) }
      if let added = changes.added { keys.append(KeyInUse(added, since: now.seconds)) }
      return ruling
    }
  }
}
