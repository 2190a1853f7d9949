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

  /// The policy reads the retry time of a refusal from `lookup` of this allowance. A view that knows only
  /// that enough is left must return the exact state here.
  func waits(for charge: AllowanceCharge)

  /// Whether the policy may skip the brakes of a request that is charged right afterwards. Brakes come last,
  /// so the charge gives the same result.
  var leavesBrakesToTaking: Bool { get }
}

extension AllowanceStates {
  public func waits(for charge: AllowanceCharge) {}
  public var leavesBrakesToTaking: Bool { false }
}

/// States that were fetched before. An allowance that is missing here is unused.
public struct FetchedStates: AllowanceStates, Sendable {
  private let states: [AllowanceKey: AllowanceLookup]

  /// Nothing used.
  public init() { states = [:] }

  /// The fetched states.
  public init(_ states: [AllowanceKey: AllowanceLookup]) { self.states = states }

  public func lookup(_ key: AllowanceKey) -> AllowanceLookup { states[key] ?? .unused }
}

/// A store that fails: for the decision to make when the real one does.
public struct UnavailableStates: AllowanceStates, Sendable {
  /// Makes one.
  public init() {}
  public func lookup(_ key: AllowanceKey) -> AllowanceLookup { .unavailable }
}
