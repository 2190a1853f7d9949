// `someAndAll`: like `allSatisfy`, but false for an empty collection, so that a test cannot pass without
// checking anything.

extension Collection {
  /// Whether there is an element and every element satisfies a condition.
  public func someAndAll(_ condition: (Element) throws -> Bool) rethrows -> Bool {
    try !isEmpty && allSatisfy(condition)
  }
}
