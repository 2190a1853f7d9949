// The two numbers that a store saves for each allowance, and how rules look them up.

/// The saved state of one allowance: two numbers, whose meaning depends on the plan. No state means that
/// nothing is used.
public struct AllowanceState: Hashable, Sendable {
  /// For a rate, the theoretical arrival time in nanoseconds since the epoch; for a quota, the day number on
  /// which the counted window begins.
  public var mark: Int64
  /// For a rate, the fraction of a nanosecond in units of 1/limit; for a quota, the number of used requests.
  public var count: Int64

  public init(mark: Int64, count: Int64) {
    self.mark = mark
    self.count = count
  }
}

/// The result of looking up an allowance.
public enum AllowanceLookup: Hashable, Sendable {
  /// Nothing was used, or the store has deleted the expired state.
  case unused
  /// The saved state.
  case state(AllowanceState)
  /// The store did not respond.
  case unavailable
}

/// The states of allowances, which a policy reads without waiting.
///
/// Code that must wait for its store first fetches the states of `Policy.charges(for:)`.
public protocol AllowanceStates {
  /// The known state of an allowance.
  func lookup(_ key: AllowanceKey) -> AllowanceLookup
}

/// States for a decision before the store is queried: every allowance counts as unused. They record whether
/// the decision looked one up. The store's states can turn a permission into a refusal, or a refusal into
/// another one, but never a refusal into a permission.
public final class PresumedStates: AllowanceStates {
  /// Whether the policy looked up an allowance.
  public private(set) var wereAsked = false

  public init() {}

  public func lookup(_ key: AllowanceKey) -> AllowanceLookup {
    wereAsked = true
    return .unused
  }
}

/// States fetched from a store before the evaluation. A key without a state counts as unused.
public struct FetchedStates: AllowanceStates, Sendable {
  private let states: [AllowanceKey: AllowanceLookup]

  /// Creates states in which nothing is used.
  public init() { states = [:] }

  public init(_ states: [AllowanceKey: AllowanceLookup]) { self.states = states }

  public func lookup(_ key: AllowanceKey) -> AllowanceLookup { states[key] ?? .unused }

  /// The fetched state of an allowance; nil if it is unused or the store failed.
  public func saved(_ key: AllowanceKey) -> AllowanceState? {
    if case .state(let state) = lookup(key) { state } else { nil }
  }
}

/// The states of a failed store: every lookup returns `.unavailable`, so each rule decides by its
/// `on_store_failure`.
public struct UnavailableStates: AllowanceStates, Sendable {
  public init() {}
  public func lookup(_ key: AllowanceKey) -> AllowanceLookup { .unavailable }
}
