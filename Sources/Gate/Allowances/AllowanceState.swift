// The two numbers that a store keeps for each allowance, and how rules look them up.

/// What is kept of one allowance: two numbers, whose meaning is the plan's own. No state means nothing is used.
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

/// What a store knows of an allowance.
public enum AllowanceLookup: Hashable, Sendable {
  /// Nothing has been used, or it has been forgotten since.
  case unused
  /// What has been used.
  case state(AllowanceState)
  /// The store cannot say.
  case unavailable
}

/// What a policy is shown of the allowances: a view that answers at once.
///
/// A store that has to wait for its answer fetches the states of `Policy.charges(for:)` first.
public protocol AllowanceStates {
  /// What is known of an allowance.
  func lookup(_ key: AllowanceKey) -> AllowanceLookup

  /// How long a refused request is told to wait follows from what `lookup` says of this allowance. A view that shows
  /// less than the whole truth, enough to allow a request, has to see to it that nobody is told that.
  func waits(for charge: AllowanceCharge)

  /// Whether brakes are not to be looked up for a request that is taken from them right afterwards: they are asked last, so
  /// that taking says the same.
  var leavesBrakesToTaking: Bool { get }
}

extension AllowanceStates {
  public func waits(for charge: AllowanceCharge) {}
  public var leavesBrakesToTaking: Bool { false }
}

/// States that were fetched before; what is not among them is unused.
public struct FetchedStates: AllowanceStates, Sendable {
  private let states: [AllowanceKey: AllowanceLookup]

  /// Nothing used.
  public init() { states = [:] }

  /// What was fetched.
  public init(_ states: [AllowanceKey: AllowanceLookup]) { self.states = states }

  public func lookup(_ key: AllowanceKey) -> AllowanceLookup { states[key] ?? .unused }
}

/// A store that fails: for the decision to make when the real one does.
public struct UnavailableStates: AllowanceStates, Sendable {
  /// Makes one.
  public init() {}
  public func lookup(_ key: AllowanceKey) -> AllowanceLookup { .unavailable }
}
