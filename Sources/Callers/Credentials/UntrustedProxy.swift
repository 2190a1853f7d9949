// Detects a proxy that the configuration does not trust: all clients behind it share one address.

import HTTP
package import Platform
import Synchronization

/// Remembers the first peer that looks like the operator's own proxy but is not in `trusted_proxies`: it has
/// a private address and sends `X-Forwarded-For`. Rules and limits by address count all its users as one.
package final class UntrustedProxy: Sendable {
  private let isFound = Atomic<Bool>(false)
  private let first = Mutex<IPAddress?>(nil)

  package init() {}

  /// The first such peer; nil if none was seen yet.
  package var peer: IPAddress? { isFound.load(ordering: .acquiring) ? first.withLock { $0 } : nil }

  /// Checks a request from a peer that no trusted block covers.
  func look(at request: borrowing Request, from peer: IPAddress) {
    guard !isFound.load(ordering: .relaxed), peer.isInternal, request.value(of: .xForwardedFor) != nil
    else { return }
    first.withLock { $0 = $0 ?? peer }
    isFound.store(true, ordering: .releasing)
  }
}
