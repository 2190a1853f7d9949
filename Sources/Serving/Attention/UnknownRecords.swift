// Counts the callbacks and tickets of the last 24 hours whose outcome is unknown.

package import Gate
package import Platform
package import Store
import Synchronization

/// The records whose outcome operators have to find out. They are read from the store, so those of other
/// instances and of earlier processes count too.
package final class UnknownRecords: Sendable {
  /// Records of one kind.
  package struct Counted: Sendable {
    /// The number of records, at most `most`.
    package var count = 0
    /// When the oldest of them was made.
    package var first: Instant?
  }

  /// The age up to which a record counts, from when it was settled or, if that is not saved, created.
  static let span = Duration.seconds(86_400)
  /// The maximum number of records that are read.
  static let most = 10_000
  /// The time between two reads.
  private static let interval = Duration.seconds(2)

  private let store: any Store
  private let clock: any TimeSource
  private let latest = Mutex<(callbacks: Counted, tickets: Counted)>((Counted(), Counted()))

  package init(store: any Store, clock: any TimeSource) {
    self.store = store
    self.clock = clock
  }

  /// The counts of the last read.
  package var counts: (callbacks: Counted, tickets: Counted) { latest.withLock { $0 } }

  /// Reads the records every two seconds until the task is canceled.
  package func keepRead() async {
    repeat { await read() } while await clock.hasSlept(until: clock.now + Self.interval)
  }

  /// Reads the records. If the store cannot be read, the counts stay as they are; the store's own problem is
  /// listed.
  func read() async {
    let start = Instant(clock.unixTime).advanced(by: .zero - Self.span)
    var (callbacks, tickets) = (Counted(), Counted())
    var query = CallbackQuery(status: .unknown, limit: CallbackQuery.limits.upperBound)
    var total = 0
    while total < Self.most {
      let page: [StoredCallback]
      do throws(StoreError) { page = try await store.callbacks(query) } catch { return }
      // The newest come first.
      for record in page where (record.settledAt ?? record.createdAt) >= start {
        if record.ticket == nil { callbacks.add(record) } else { tickets.add(record) }
      }
      total += page.count
      guard page.count == query.limit, let last = page.last, last.createdAt >= start else { break }
      query.after = last.id
    }
    latest.withLock { $0 = (callbacks, tickets) }
  }
}

extension UnknownRecords.Counted {
  fileprivate mutating func add(_ record: StoredCallback) {
    count += 1
    first = min(first ?? record.createdAt, record.createdAt)
  }
}
