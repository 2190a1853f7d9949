// An `allSatisfy` for tests, which cannot become true of nothing.

extension Collection {
  /// Whether there are elements, and all of them satisfy a condition.
  public func someAndAll(_ condition: (Element) throws -> Bool) rethrows -> Bool {
    try !isEmpty && allSatisfy(condition)
  }
}
