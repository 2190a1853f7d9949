// A query for one page of callbacks, for operators.

/// A query for a page of callbacks. Ids begin with their time, so their order is the order of time.
public struct CallbackQuery: Hashable, Sendable {
  /// The allowed sizes of a page.
  public static let limits = 1...1000

  /// The status of the callbacks; nil for all.
  public var status: StoredCallback.Status?
  /// The last callback of the previous page: this page has older ones. Nil for the newest callbacks.
  public var after: CallbackID?
  /// The maximum number of callbacks on the page.
  public var limit: Int

  public init(status: StoredCallback.Status? = nil, after: CallbackID? = nil, limit: Int) {
    precondition(Self.limits.contains(limit))
    self.status = status
    self.after = after
    self.limit = limit
  }

  /// The upper bound of the page: all its callbacks have smaller ids.
  package var bound: StoreID { after?.id ?? StoreID(high: .max, low: .max) }

  /// The condition in SQL after WHERE. The caller appends `id < ` and a parameter. The status is a literal,
  /// so that the database can use the partial index on rare statuses.
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
