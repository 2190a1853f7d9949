// Notices a proxy that the configuration does not trust: everybody behind it shares one address.

import HTTP
package import Platform
import Synchronization

/// Remembers the first peer that looks like a proxy of the operator's, and that `trusted_proxies` does not cover: its address is a
/// private one, and it sends `X-Forwarded-For`. Rules and limits by address then count all its users as one.
package final class UntrustedProxy: Sendable {
  private let isFound = Atomic<Bool>(false)
  private let first = Mutex<IPAddress?>(nil)

  /// None was seen.
  package init() {}

  /// The peer; nil before one was seen.
  package var peer: IPAddress? { isFound.load(ordering: .acquiring) ? first.withLock { $0 } : nil }

  /// Looks at a request of a peer that no trusted block covers.
  func look(at request: borrowing Request, from peer: IPAddress) {
    guard !isFound.load(ordering: .relaxed), peer.isInternal, request.value(of: .xForwardedFor) != nil
    else { return }
    first.withLock { $0 = $0 ?? peer }
    isFound.store(true, ordering: .releasing)
  }
}
