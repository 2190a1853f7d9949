// The stops of the store in memory.

import Synchronization

extension MemoryStore {
  public func stops() -> StopSet { stopped.withLock { $0 } }

  public func stop(_ stop: Stop) { stopped.withLock { $0.stop(stop) } }

  public func resume(_ target: Stop.Target, _ action: Stop.Action) {
    stopped.withLock { $0.resume(target, action) }
  }
}
