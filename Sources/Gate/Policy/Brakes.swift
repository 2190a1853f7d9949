// The figures of the built-in limits on callbacks, which bound the cost of a stolen app password.

import Documents
import Platform

/// How many callbacks each brake lets pass.
public struct Brakes: Hashable, Sendable {
  /// Callbacks to one number in a day; 0 for any number of them.
  public var numberPerDay: Int64
  /// Callbacks of all callers in five minutes; 0 for any number of them.
  public var perFiveMinutes: Int64
  /// Callbacks of all callers in an hour; 0 for any number of them.
  public var perHour: Int64
  /// Lookups of numbers in an hour, for all callers together. 0: no limit.
  public var lookupsPerHour: Int64

  /// The largest figure.
  public static let maximum: Int64 = 1_000_000_000

  /// Brakes with these figures, each from 0 to `maximum`.
  public init(
    numberPerDay: Int64 = 6, perFiveMinutes: Int64 = 500, perHour: Int64 = 1000,
    lookupsPerHour: Int64 = 500
  ) {
    self.numberPerDay = numberPerDay
    self.perFiveMinutes = perFiveMinutes
    self.perHour = perHour
    self.lookupsPerHour = lookupsPerHour
  }

  /// No brakes.
  public static let off = Brakes(numberPerDay: 0, perFiveMinutes: 0, perHour: 0, lookupsPerHour: 0)

  /// How many callbacks a brake lets pass; 0 where it is off.
  public subscript(brake: Brake) -> Int64 {
    switch brake {
    case .number: numberPerDay
    case .burst: perFiveMinutes
    case .hour: perHour
    case .lookups: lookupsPerHour
    }
  }

  /// The rules of the brakes that are on.
  ///
  /// - Parameter hasLookups: Whether there is a rule `screened`. Its brake is the last.
  func rules(withLookups hasLookups: Bool) -> [Rule] {
    Brake.allCases.compactMap { brake in
      self[brake] == 0 || brake == .lookups && !hasLookups ? nil : Rule(brake, limit: self[brake])
    }
  }
}

extension Rule {
  /// The rule of a brake.
  fileprivate init(_ brake: Brake, limit: Int64) {
    do throws(Refusal) {
      switch brake {
      case .number:
        self.init(brake, .quota(try Quota(limit: limit, period: .day), key: .phone, onStoreFailure: .deny))
      case .burst, .hour, .lookups:
        let rate = try RateLimit(limit: limit, per: brake.seconds.multipliedClamped(by: 1_000_000_000))
        self.init(brake, .rate(rate, key: .global, onStoreFailure: .deny))
      }
    } catch {
      preconditionFailure("a brake's figure that was not checked: \(error.message)")
    }
  }
}

extension Policy {
  /// The brakes that can apply. The one on lookups needs a rule `screened`.
  public var possibleBrakes: [Brake] { Brake.allCases.filter { $0 != .lookups || asksScreening } }

  /// The charges of a callback to the brakes that all callers share.
  public var sharedBrakes: [AllowanceCharge] {
    entries[firstBrake...].compactMap { entry in
      guard let rule = entry.allowance, rule.scope == .global else { return nil }
      return AllowanceCharge(rule: rule, party: .global)
    }
  }
}
