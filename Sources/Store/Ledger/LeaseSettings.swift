// The settings that decide how much of an allowance is leased and for how long.

/// The terms on which a ledger leases. All of them are about cost and fairness; that no limit is exceeded does not
/// depend on any.
public struct LeaseSettings: Sendable {
  /// A lease takes at most one part in so many of the rest.
  public var share: Int64
  /// A lease has at most so many requests.
  public var most: Int64
  /// The first lease of an allowance has so many.
  public var first: Int64
  /// An allowance is leased when it is used twice within this span; until then each use goes to the store.
  public var heat: Duration
  /// A lease unused for so long is given back.
  public var idle: Duration
  /// Whether other processes use the store as well. Then only the rest of a lease is certain.
  public var isShared: Bool
  /// How many allowances may be leased at the same time.
  public var entries: Int

  /// Terms for one process that has the store to itself.
  public static let alone = LeaseSettings(
    share: 2, most: 4096, first: 8, heat: .seconds(60), idle: .seconds(60), isShared: false, entries: 65_536)
  /// Terms for instances that share a store.
  public static let shared = LeaseSettings(
    share: 8, most: 4096, first: 8, heat: .seconds(1), idle: .seconds(5), isShared: true, entries: 65_536)

  /// Terms.
  public init(
    share: Int64, most: Int64, first: Int64, heat: Duration, idle: Duration, isShared: Bool, entries: Int
  ) {
    self.share = share
    self.most = most
    self.first = first
    self.heat = heat
    self.idle = idle
    self.isShared = isShared
    self.entries = entries
  }
}
