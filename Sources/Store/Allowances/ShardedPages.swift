// Tables behind many locks, so that event loops seldom wait for each other.

import Synchronization

/// Pages, each behind a lock of its own; an id belongs to one of them.
final class ShardedPages<Page: Sendable>: Sendable {
  private final class Shard: Sendable {
    let page: Mutex<Page>
    init(_ page: Page) { self.page = Mutex(page) }
  }

  private let shards: [Shard]

  /// How many there are: a power of two, and as many as a word has bits.
  static var shardCount: Int { 64 }

  init(_ make: () -> Page) { shards = (0..<Self.shardCount).map { _ in Shard(make()) } }

  @inline(__always) private func shard(of id: LocalID) -> Int { Int(truncatingIfNeeded: id.high >> 58) }

  /// Works on the page of one id.
  @inline(__always) func with<R: Sendable>(_ id: LocalID, _ body: (inout Page) -> R) -> R {
    shards[shard(of: id)].page.withLock { body(&$0) }
  }

  /// Works on every page, one after the other.
  func eachPage(_ body: (inout Page) -> Void) {
    for shard in shards { shard.page.withLock { body(&$0) } }
  }

  /// Works on the pages of several ids while all of them are locked, in an order that cannot deadlock.
  ///
  /// - Parameters:
  ///   - read: Reads the page of the id at an index; false to give up.
  ///   - decide: Called when everything has been read; nil to give up.
  ///   - write: Called for each index with the decision.
  func withAll<R: Sendable>(
    _ ids: [LocalID], read: (inout Page, Int) -> Bool, decide: () -> R?, write: (inout Page, Int, R) -> Void
  ) -> R? {
    if ids.count == 1 {
      return shards[shard(of: ids[0])].page.withLock { page in
        guard read(&page, 0), let result = decide() else { return nil }
        write(&page, 0, result)
        return result
      }
    }
    var mask: UInt64 = 0
    for id in ids { mask |= 1 << UInt64(shard(of: id)) }
    return descend(mask, ids, read, decide, write)
  }

  /// Locks the first shard that is left, reads its ids, continues with the next, and writes on the way back.
  private func descend<R: Sendable>(
    _ mask: UInt64, _ ids: [LocalID], _ read: (inout Page, Int) -> Bool, _ decide: () -> R?,
    _ write: (inout Page, Int, R) -> Void
  ) -> R? {
    guard mask != 0 else { return decide() }
    let number = mask.trailingZeroBitCount
    return shards[number].page.withLock { page in
      for index in ids.indices where shard(of: ids[index]) == number {
        guard read(&page, index) else { return nil }
      }
      guard let result = descend(mask & (mask - 1), ids, read, decide, write) else { return nil }
      for index in ids.indices where shard(of: ids[index]) == number { write(&page, index, result) }
      return result
    }
  }
}
