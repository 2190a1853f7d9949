/// The waiting faults, in the order they were posted. Each is used up before the next one for its endpoint
/// starts.
struct FaultQueue: Sendable {
  /// The maximum number of waiting faults.
  static let capacity = 1000

  /// The waiting faults, in order. `times` is the number of requests left.
  private(set) var waiting: [Fault] = []

  /// Adds a fault behind all others; false when the queue is full.
  mutating func append(_ fault: Fault) -> Bool {
    guard waiting.count < Self.capacity else { return false }
    waiting.append(fault)
    return true
  }

  /// Takes the fault for a request that has just arrived, if any, and counts the request.
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
