// Guessing credentials is slowed down without locking anybody out.

internal import JOSE
internal import Platform
internal import Synchronization

/// Counts failed logins per address, and per address and identity, and says when to stop listening.
///
/// Nothing is counted per identity alone: whoever knows a user name could then lock its owner out from elsewhere. A right
/// password from another address is always heard. An address shared by many (a carrier's, an office's) has more
/// patience than one user name from it.
final class LoginThrottle: Sendable {
  /// How many failures are heard at once, and how long each weighs.
  private struct Patience {
    let burst: Int64
    /// After this long one more failure is heard.
    let interval: Int64
  }

  /// 10 at once, 10 a minute.
  private static let perIdentity = Patience(burst: 10, interval: 6_000_000_000)
  /// 100 at once, 100 a minute.
  private static let perAddress = Patience(burst: 100, interval: 600_000_000)
  /// How many addresses and identities are remembered; beyond it the least burdened are forgotten.
  static let capacity = 65_536

  /// For each key the theoretical arrival time of the generic cell rate algorithm, in nanoseconds.
  private let table = Mutex<[UInt64: Int64]>([:])
  private let count = Atomic<Int>(0)
  private let refused = Atomic<Int>(0)
  private let seed = UInt64.random(in: .min ... .max)

  /// After how long a login is heard again; nil when it is heard now.
  /// - Parameter identity: The user name that is tried; nil for keys and tokens, which name nobody.
  func wait(address: IPAddress, identity: [UInt8]?, now: MonotonicTime) -> Duration? {
    // Nobody has failed lately: the ordinary case costs one load.
    guard count.load(ordering: .relaxed) > 0 else { return nil }
    let (addressKey, identityKey) = keys(address, identity)
    let wait = table.withLock { table in
      let waits = [
        Self.wait(table[addressKey], Self.perAddress, now),
        identityKey.flatMap { Self.wait(table[$0], Self.perIdentity, now) },
      ]
      return waits.compactMap { $0 }.max()
    }
    if wait != nil { refused.add(1, ordering: .relaxed) }
    return wait
  }

  /// How many logins were not heard so far.
  var refusals: Int { refused.load(ordering: .relaxed) }

  /// Counts a failed login.
  func failed(address: IPAddress, identity: [UInt8]?, now: MonotonicTime) {
    let (addressKey, identityKey) = keys(address, identity)
    table.withLock { table in
      if table.count >= Self.capacity { Self.forget(&table, now: now) }
      Self.weigh(&table[addressKey], Self.perAddress, now)
      if let identityKey { Self.weigh(&table[identityKey], Self.perIdentity, now) }
      count.store(table.count, ordering: .relaxed)
    }
  }

  private static func weigh(_ arrival: inout Int64?, _ patience: Patience, _ now: MonotonicTime) {
    arrival = max(arrival ?? 0, now.nanoseconds) + patience.interval
  }

  private static func wait(_ arrival: Int64?, _ patience: Patience, _ now: MonotonicTime) -> Duration? {
    guard let arrival else { return nil }
    let early = arrival - now.nanoseconds - (patience.burst - 1) * patience.interval
    return early > 0 ? .nanoseconds(early) : nil
  }

  /// Drops what weighs nothing any more, and then the lighter half: a flood from many addresses must not free the one
  /// that has failed most.
  private static func forget(_ table: inout [UInt64: Int64], now: MonotonicTime) {
    table = table.filter { $0.value > now.nanoseconds }
    guard table.count >= capacity else { return }
    let middle = table.values.sorted()[table.count / 2]
    table = table.filter { $0.value > middle }
  }

  private func keys(_ address: IPAddress, _ identity: [UInt8]?) -> (address: UInt64, identity: UInt64?) {
    // One IPv6 customer has a whole /64.
    let bytes = address.octets
    let network = bytes.count == 16 ? Array(bytes[..<8]) : bytes
    var ofAddress = Hasher()
    ofAddress.combine(seed)
    ofAddress.combine(network)
    var ofIdentity = ofAddress
    ofIdentity.combine(identity)
    return (
      UInt64(bitPattern: Int64(ofAddress.finalize())),
      identity.map { _ in UInt64(bitPattern: Int64(ofIdentity.finalize())) }
    )
  }
}
