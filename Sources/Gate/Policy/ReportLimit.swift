// Lets one instance ask for the nightly report of calls.

import Documents

/// The nightly report is asked for once a day, by all instances that share a store together.
public enum ReportLimit {
  /// What asking takes.
  ///
  /// - Parameter zone: The zone whose day it is.
  public static func charge(in zone: Zone) -> AllowanceCharge {
    do throws(Refusal) {
      let quota = try Quota(limit: 1, period: .day, zone: zone)
      let rule = Rule(builtIn: Rule.report, .access, .quota(quota, key: .global, onStoreFailure: .deny))
      guard let made = AllowanceRule(rule, index: 0) else { preconditionFailure("a quota counts") }
      return AllowanceCharge(rule: made, party: .global)
    } catch {
      preconditionFailure("the limit is a valid rule: \(error.message)")
    }
  }
}
