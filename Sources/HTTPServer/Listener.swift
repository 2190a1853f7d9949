// Accepts connections on one loop, and keeps working when the process runs out of descriptors.

import Platform
import Synchronization

/// A listener on one loop. If descriptors run short, it pauses, and clients wait in the kernel's queue. If
/// the process has none left, it refuses one client before the pause.
///
/// `@unchecked Sendable`: everything mutable is touched on the worker's loop only. `start` and `stop` only
/// pass work to that loop.
final class Listener: EventReceiver, @unchecked Sendable {
  /// Connections accepted per turn, before open connections get their turn.
  private static let acceptsPerTurn = 64
  /// The maximum number of clients that get 503 at the same time, on all loops together. The others wait in
  /// the kernel's queue.
  private static let refusalsAtATime = 128
  /// The distance to the reserved descriptors below which the server checks the next free descriptor before
  /// it accepts. All loops together open fewer between two checks.
  private static let nearby = 128
  /// The pause while a handshake or a response must end first. Those of honest clients end within a moment.
  private static let shortPause = Duration.milliseconds(10)
  /// The pause when there is no room or no descriptor: long enough not to spin, short enough to recover
  /// within a second.
  private static let pause = Duration.milliseconds(200)

  private let socket: ListeningSocket
  private let worker: Worker
  private let readiness: Readiness
  private let refusalLimit: Int
  private let firstKeptDescriptor: Int
  /// The latest descriptor number from the kernel. The kernel gives the lowest free one, so the number shows
  /// how many are in use.
  private var latestNumber = 0
  private var token = EventToken.none
  /// A spare descriptor. If no other is free, the server closes it to accept one client and send 503.
  private var reserve: Descriptor?

  /// - Parameters:
  ///   - isShared: Whether other loops wait on the same socket.
  ///   - loopCount: The number of loops that the server runs on.
  init(_ socket: consuming ListeningSocket, worker: Worker, isShared: Bool, loopCount: Int) {
    self.socket = socket
    self.worker = worker
    readiness = isShared ? [.read, .exclusive] : .read
    refusalLimit = max(1, Self.refusalsAtATime / loopCount)
    // If the limit cannot be read, accepting fails once it is reached.
    let descriptors = (try? ProcessSetup.descriptorLimit().soft) ?? .max
    firstKeptDescriptor = ServerLimits.firstKeptDescriptor(of: descriptors)
    reserve = Descriptor.spare()
  }

  /// Registers the socket with the loop, and returns the error if that fails. Call it from outside the
  /// loop, because it waits for the loop.
  func start() -> SystemError? {
    worker.loop.run {
      do throws(SystemError) {
        self.token = try self.worker.loop.register(self.socket.descriptor, self.readiness, self)
        return nil
      } catch {
        return error
      }
    }
  }

  /// Accepts the connections that already wait in the queue, then stops. Any thread may call it. The socket
  /// closes with this object.
  func stop() {
    worker.loop.execute {
      guard self.token != .none else { return }
      // The socket may outlive this object in another process, and so may its registration with the kernel:
      // it would continue to wake this loop instead of the other process. After `suspend` the socket wakes
      // the other process, and this loop accepts the connections that woke it.
      do throws(SystemError) {
        try self.worker.loop.suspend(self.token, self.socket.descriptor)
      } catch {
        // Accepting is paused: the loop does not watch the socket anyway.
      }
      self.acceptAll(limit: .max)
      self.worker.loop.unregister(self.token)
      self.token = .none
    }
  }

  func ready(_ readiness: Readiness) { acceptAll(limit: Self.acceptsPerTurn) }

  func deadlinePassed() {
    if reserve == nil { reserve = Descriptor.spare() }
    do throws(SystemError) {
      try worker.loop.resume(token, socket.descriptor, readiness)
    } catch {
      // The kernel has no memory for the registration now: try again after another pause.
      worker.loop.setDeadline(token, worker.loop.now + Self.pause)
    }
  }

  func loopEnded() { token = .none }

  private func acceptAll(limit: Int) {
    var count = 0
    while count < limit {
      count += 1
      let isFull = worker.state.connections.load(ordering: .relaxed) >= worker.limits.connections
      let mayMakeRoom = isFull && worker.limits.closesLongestSilent
      // Every connection has a request with its handler, so the next client waits in the kernel's queue for
      // the first response.
      if limit != .max, mayMakeRoom, !worker.mayMakeRoom { return rest(for: Self.shortPause) }
      if isFull, worker.finishedWaiting.isEmpty, worker.refusals >= refusalLimit { return rest() }
      // Clients that still wait in the queue when accepting stops would be lost, so this limit does not apply
      // to them.
      if limit != .max, worker.makeFilter != nil, !worker.mayBeginHandshake {
        return rest(for: Self.shortPause)
      }
      // Without a free descriptor, clients wait in the kernel's queue.
      guard hasDescriptor() else { return rest() }
      switch socket.accept() {
      case .none:
        return
      case .connection(let client, let peer):
        latestNumber = Int(client.descriptor.number)
        let hasRoom = !isFull || mayMakeRoom && worker.makeRoom() || worker.closeFinishedWaiting()
        admit(client, peer, isFull: !hasRoom)
      case .failed(let error):
        if error.isOutOfDescriptors { refuseOne() }
        return rest()
      }
    }
  }

  /// Whether the next client would get a descriptor below the reserved ones. The function checks with a
  /// spare descriptor, but only if the latest number was near them.
  private func hasDescriptor() -> Bool {
    guard latestNumber >= firstKeptDescriptor - Self.nearby else { return true }
    guard let next = Descriptor.spare() else { return false }
    latestNumber = Int(next.number)
    return latestNumber < firstKeptDescriptor
  }

  private func admit(_ client: consuming StreamSocket, _ peer: SocketAddress, isFull: Bool) {
    let connection = Connection(client, peer: peer, worker: worker, isCounted: !isFull)
    connection.open()
    if isFull { connection.refuseOverload() }
  }

  /// Sends 503 to one client through the spare descriptor. Without it, the server could not even refuse.
  private func refuseOne() {
    guard reserve != nil else { return }
    reserve = nil
    if case .connection(let client, let peer) = socket.accept() { admit(client, peer, isFull: true) }
  }

  /// Pauses accepting. The socket stays ready while clients wait in its queue, so the loop does not watch it
  /// during the pause.
  private func rest(for pause: Duration = pause) {
    do throws(SystemError) {
      try worker.loop.suspend(token, socket.descriptor)
      worker.loop.setDeadline(token, worker.loop.now + pause)
    } catch {
      // The loop does not watch the socket anyway.
    }
  }
}
