// The two numbers that a store keeps for each allowance, and how rules look them up.

/// The saved state of one allowance: two numbers, whose meaning depends on the plan. No state means that
/// nothing is used.
public struct AllowanceState: Hashable, Sendable {
  /// For a rate, the theoretical arrival time in nanoseconds since the epoch; for a quota, the day number on
  /// which the counted window begins.
  public var mark: Int64
  /// For a rate, the fraction of a nanosecond in parts of its limit; for a quota, how many are used.
  public var count: Int64

  /// A state, as a store gives it back.
  public init(mark: Int64, count: Int64) {
    self.mark = mark
    self.count = count
  }
}

/// A store's knowledge of an allowance.
public enum AllowanceLookup: Hashable, Sendable {
  /// Nothing has been used, or it has been forgotten since.
  case unused
  /// The allowance has this state.
  case state(AllowanceState)
  /// The store did not respond.
  case unavailable
}

/// The states of allowances that a policy may read without waiting.
///
/// A store that has to wait fetches the states of `Policy.charges(for:)` first.
public protocol AllowanceStates {
  /// The known state of an allowance.
  func lookup(_ key: AllowanceKey) -> AllowanceLookup
}

/// States for a decision that is made before the store is asked: every allowance counts as unused. They note whether the decision
/// depends on any. A store's states may turn such a decision into a refusal, or into another one, and never into a permission.
public final class PresumedStates: AllowanceStates {
  /// Whether the policy looked up an allowance.
  public private(set) var wereAsked = false

  /// States that were not asked yet.
  public init() {}

  public func lookup(_ key: AllowanceKey) -> AllowanceLookup {
    wereAsked = true
    return .unused
  }
}

/// States that were fetched before. An allowance that is missing here is unused.
public struct FetchedStates: AllowanceStates, Sendable {
  private let states: [AllowanceKey: AllowanceLookup]

  /// Nothing used.
  public init() { states = [:] }

  /// The fetched states.
  public init(_ states: [AllowanceKey: AllowanceLookup]) { self.states = states }

  public func lookup(_ key: AllowanceKey) -> AllowanceLookup { states[key] ?? .unused }

  /// The fetched state of an allowance; nil for an unused one.
  public func saved(_ key: AllowanceKey) -> AllowanceState? {
    if case .state(let state) = lookup(key) { state } else { nil }
  }
}

/// A store that fails: for the decision to make when the real one does.
public struct UnavailableStates: AllowanceStates, Sendable {
  /// Makes one.
  public init() {}
  public func lookup(_ key: AllowanceKey) -> AllowanceLookup { .unavailable }
}
