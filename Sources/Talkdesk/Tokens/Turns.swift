/// Turns at something of which only so much may go on at once: whoever comes too late waits in line.
struct Turns {
  private var running = 0
  private var line: [TokenCache.ExchangeID] = []

  /// Takes a turn, or a place in the line.
  ///
  /// - Returns: whether it is a turn.
  mutating func take(_ id: TokenCache.ExchangeID, of limit: Int) -> Bool {
    guard running < limit else {
      line.append(id)
      return false
    }
    running += 1
    return true
  }

  /// A turn is over.
  mutating func release() { running -= 1 }

  /// Gives the next in line a turn; nil where there is none to give, or nobody to give it to.
  mutating func next(of limit: Int) -> TokenCache.ExchangeID? {
    guard running < limit, !line.isEmpty else { return nil }
    running += 1
    return line.removeFirst()
  }

  /// Leaves the line.
  ///
  /// - Returns: false for one who does not stand in it.
  mutating func withdraw(_ id: TokenCache.ExchangeID) -> Bool {
    guard let place = line.firstIndex(of: id) else { return false }
    line.remove(at: place)
    return true
  }
}
