// Selects the page of callbacks that an operator wants to see.

/// A page of callbacks. Ids begin with their time, so the order of ids is that of time.
public struct CallbackQuery: Hashable, Sendable {
  /// The allowed sizes of a page.
  public static let limits = 1...1000

  /// The status of the callbacks; nil for all.
  public var status: StoredCallback.Status?
  /// The callback whose older ones the page lists; nil for the newest.
  public var after: CallbackID?
  /// The most callbacks on the page.
  public var limit: Int

  public init(status: StoredCallback.Status? = nil, after: CallbackID? = nil, limit: Int) {
    precondition(Self.limits.contains(limit))
    self.status = status
    self.after = after
    self.limit = limit
  }

  /// The upper bound of the page: all its records have smaller ids.
  package var bound: StoreID { after?.id ?? StoreID(high: .max, low: .max) }

  /// The condition as SQL after WHERE; the caller appends `id < ` and a parameter. The word of a rare status
  /// is a literal, so that the partial index on rare statuses applies.
  package static func condition(_ status: StoredCallback.Status?) -> String {
    switch status {
    case nil: ""
    case .accepted: "status = 'accepted' AND "
    // For operators, a record with an outcome is not unknown.
    case .unknown: "status = 'unknown' AND status <> 'accepted' AND outcome IS NULL AND "
    case let status?: "status = '\(status.rawValue)' AND status <> 'accepted' AND "
    }
  }
}
