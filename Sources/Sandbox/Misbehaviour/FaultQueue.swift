/// The faults that are waiting: for each endpoint in the order they were posted, each used up before the next begins.
struct FaultQueue: Sendable {
  /// How many faults wait at most.
  static let capacity = 1000

  /// The waiting faults, in order. `times` counts the rest.
  private(set) var waiting: [Fault] = []

  /// Adds a fault behind all others; false when the queue is full.
  mutating func append(_ fault: Fault) -> Bool {
    guard waiting.count < Self.capacity else { return false }
    waiting.append(fault)
    return true
  }

  /// The fault that hits a request that has just come, if any.
  mutating func take(_ endpoint: Fault.Endpoint) -> Fault? {
    guard let index = waiting.firstIndex(where: { $0.endpoint == endpoint }) else { return nil }
    let fault = waiting[index]
    waiting[index].times -= 1
    if waiting[index].times == 0 { waiting.remove(at: index) }
    return fault
  }

  /// Forgets all faults.
  mutating func removeAll() { waiting.removeAll() }
}
