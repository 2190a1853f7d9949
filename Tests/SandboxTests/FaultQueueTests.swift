// Tests of the order in which queued faults are used.

import Testing

@testable import Sandbox

/// A wrapper that lets an expectation call mutating functions.
private final class Subject {
  var subject = FaultQueue()
  func append(_ fault: Fault) -> Bool { subject.append(fault) }
  func take(_ endpoint: Fault.Endpoint) -> Fault? { subject.take(endpoint) }
}

@Suite struct FaultQueueTests {
  private func fault(_ endpoint: Fault.Endpoint, _ status: Int, times: Int = 1) -> Fault {
    var fault = Fault(endpoint: endpoint)
    fault.status = status
    fault.times = times
    return fault
  }

  @Test func `faults come in the order they were posted, each so many times`() {
    let queue = Subject()
    for fault in [fault(.token, 503, times: 2), fault(.callback, 500), fault(.token, 429)] {
      #expect(queue.append(fault))
    }
    #expect(queue.take(.token)?.status == 503)
    #expect(queue.subject.waiting.map(\.times) == [1, 1, 1])
    #expect(queue.take(.token)?.status == 503)
    #expect(queue.take(.token)?.status == 429)
    #expect(queue.take(.token) == nil)
    #expect(queue.take(.callback)?.status == 500)
    #expect(queue.subject.waiting.isEmpty)
  }

  @Test func `a thousand faults wait and no more`() {
    let queue = Subject()
    for _ in 0..<1000 { #expect(queue.append(fault(.token, 503))) }
    #expect(!queue.append(fault(.token, 503)))
    queue.subject.removeAll()
    #expect(queue.take(.token) == nil)
  }
}
