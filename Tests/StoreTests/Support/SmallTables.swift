// The tables and indexes that a statement may read whole, since they stay small.

enum SmallTables {
  private static let reasons = [
    "callgate_stop": "operators make them, one for each target",
    "callgate_meta": "the server's own values",
    "callgate_store_key": "one for each store key in use",
    "callgate_number_key": "one key",
    "callgate_blocked_number": "operators make them, and only they wait for the count",
    "other": "the same, by its name in that statement",
    "callgate_login": "10,000",
    "callgate_login_last": "10,000",
    "callgate_callback_without_origin":
      "appointments of an earlier release, until they have their generation",
    "callgate_instance": "one for each instance",
    "callgate_commit": "one for each connection",
    "callgate_callback_pending": "callbacks on their way, which the limits on requests bound",
    "callgate_schema": "one for each step of the schema",
  ]

  /// Whether a step of a plan reads a small table or its index.
  static func isOne(of step: String) -> Bool {
    step.split(separator: " ").contains { word in
      reasons.keys.contains { word == $0 || word.hasPrefix("\($0)_pkey") }
    }
  }
}
