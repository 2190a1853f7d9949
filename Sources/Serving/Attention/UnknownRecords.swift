// Counts the callbacks and tickets of the last 24 hours whose outcome is unknown.

package import Gate
package import Platform
package import Store
import Synchronization

/// The records that operators have to find out about. It reads them from the store, so those of other instances and of processes
/// that have ended count too.
package final class UnknownRecords: Sendable {
  /// Records of one kind.
  package struct Counted: Sendable {
    /// How many, at most `most`.
    package var count = 0
    /// When the first of them was made.
    package var first: Instant?
  }

  /// The span in which a record counts.
  static let span = Duration.seconds(86_400)
  /// The most records that are read.
  static let most = 10_000
  /// The time between two reads.
  private static let interval = Duration.seconds(2)

  private let store: any Store
  private let clock: any TimeSource
  private let latest = Mutex<(callbacks: Counted, tickets: Counted)>((Counted(), Counted()))

  /// Has read nothing yet.
  package init(store: any Store, clock: any TimeSource) {
    self.store = store
    self.clock = clock
  }

  /// The counts when they were read last.
  package var counts: (callbacks: Counted, tickets: Counted) { latest.withLock { $0 } }

  /// Reads them every two seconds until its task is cancelled.
  package func keepRead() async {
    repeat { await read() } while await clock.hasSlept(until: clock.now + Self.interval)
  }

  /// Reads them. A store that cannot be read leaves the counts as they are: its own problem is listed.
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
