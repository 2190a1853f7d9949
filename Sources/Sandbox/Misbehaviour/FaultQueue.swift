/// The waiting faults, in the order in which they were posted. Each fault is used up before the next one for
/// the same endpoint begins.
struct FaultQueue: Sendable {
  /// The maximum number of waiting faults.
  static let capacity = 1000

  /// The waiting faults, oldest first. `times` is the number of requests that a fault still affects.
  private(set) var waiting: [Fault] = []

  /// Adds a fault at the end. Returns false if the queue is full.
  mutating func append(_ fault: Fault) -> Bool {
    guard waiting.count < Self.capacity else { return false }
    waiting.append(fault)
    return true
  }

  /// Returns the fault for a request that has just arrived, if any, and counts the request.
  mutating func take(_ endpoint: Fault.Endpoint) -> Fault? {
    guard let index = waiting.firstIndex(where: { $0.endpoint == endpoint }) else { return nil }
    let fault = waiting[index]
    waiting[index].times -= 1
    if waiting[index].times == 0 { waiting.remove(at: index) }
    return fault
  }

  mutating func removeAll() { waiting.removeAll() }
}
