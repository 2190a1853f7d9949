/// The event loops of a process, by default one for each processor.
public final class EventLoopGroup: Sendable {
  public let loops: [EventLoop]

  /// Starts loops.
  ///
  /// - Parameter count: The number of loops; by default one for each processor that the process may use.
  /// - Throws: The error of the system if it has no descriptors for the loops.
  public init(count: Int = ProcessSetup.processorCount) throws(SystemError) {
    precondition(count > 0, "a group has at least one loop")
    var loops: [EventLoop] = []
    for index in 0..<count { loops.append(try EventLoop(index: index)) }
    self.loops = loops
  }

  /// A group of one loop that belongs to another group. The other group ends the loop.
  public init(sharing loop: EventLoop) { loops = [loop] }

  /// Ends all loops and waits until they have ended. Do not call it on one of these loops: it would wait for
  /// itself.
  public func shutdown() {
    for loop in loops { loop.stop() }
    for loop in loops { loop.join() }
  }
}
