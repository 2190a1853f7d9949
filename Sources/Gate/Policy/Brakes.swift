// The limits of the brakes: built-in rules that bound the cost of a stolen app password.

import Documents
import Platform

/// The limit of each brake (setting `callbacks.brakes`).
public struct Brakes: Hashable, Sendable {
  /// The maximum number of callbacks to one number per day (UTC); 0 for no limit.
  public var numberPerDay: Int64
  /// The maximum number of callbacks of all callers in five minutes; 0 for no limit.
  public var perFiveMinutes: Int64
  /// The maximum number of callbacks of all callers in an hour; 0 for no limit.
  public var perHour: Int64
  /// The maximum number of number lookups for all callers in an hour; 0 for no limit.
  public var lookupsPerHour: Int64

  /// The largest limit that a configuration may set.
  public static let maximum: Int64 = 1_000_000_000

  /// Creates limits, each from 0 to `maximum`.
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

  /// The limit of a brake; 0 if the brake is off.
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
  /// - Parameter hasLookups: Whether a rule `screened` looks numbers up. The brake on lookups comes last.
  func rules(withLookups hasLookups: Bool) -> [Rule] {
    Brake.allCases.compactMap { brake in
      self[brake] == 0 || brake == .lookups && !hasLookups ? nil : Rule(brake, limit: self[brake])
    }
  }
}

extension Rule {
  /// Creates the rule of a brake with a limit.
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
  /// The brakes that the settings can turn on, whether they are on or off. The brake on lookups needs a rule
  /// `screened`.
  public var possibleBrakes: [Brake] { Brake.allCases.filter { $0 != .lookups || asksScreening } }

  /// The charges to the brakes that all callers share: two on callbacks, and one on number lookups. Brakes
  /// that are off are left out.
  public var sharedBrakes: [AllowanceCharge] {
    entries[firstBrake...].compactMap { entry in
      guard let rule = entry.allowance, rule.scope == .global else { return nil }
      return AllowanceCharge(rule: rule, party: .global)
    }
  }
}
