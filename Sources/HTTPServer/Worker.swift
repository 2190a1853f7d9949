// The part of the server on one event loop: its connections and the buffers they share.

import HTTP
import Platform
import Synchronization
import Texts

/// The part of a server on one loop: its connections, and the buffers that each of them uses in its turn.
///
/// `@unchecked Sendable`: everything mutable is touched on `loop` only. Other threads hold references only
/// to pass work to that loop.
final class Worker: @unchecked Sendable {
  let loop: EventLoop
  let handler: any RequestHandler
  let limits: ServerLimits
  let timeLimits: ConnectionMachine.TimeLimits
  let state: ServerState
  let makeFilter: Server.Filter?
  private let observer: (any ServerObserver)?
  private let clock: any TimeSource

  /// Octets just read. The buffer is as large as the input that one connection may leave unparsed.
  var input = [UInt8](repeating: 0, count: 16_384)
  /// The decrypted octets from a filter.
  var plain: [UInt8] = []
  /// Responses of the connection at work, sent together. Change it with `withOutput`.
  private(set) var output: [UInt8] = []
  /// A filter's octets for the network. Change it with `withWire`.
  private(set) var wire: [UInt8] = []
  /// Storage for the request of the connection at work.
  var request = Request()
  var ids = RequestIDGenerator()

  /// Connections whose clients have finished writing while their requests are with the handler.
  var finishedWaiting: Set<EventToken> = []

  private var connections: [Connection] = []
  /// The number of open connections that only get 503.
  private(set) var refusals = 0
  private var handshakes: Handshakes
  private let commonLines: [UInt8]
  private let filteredLines: [UInt8]
  private var dateLine: [UInt8] = []
  private var dateSecond = Int64.min
  private var dateCheckedAt = MonotonicTime(nanoseconds: .min)

  init(
    loop: EventLoop, handler: any RequestHandler, limits: ServerLimits, state: ServerState,
    clock: any TimeSource, loopCount: Int,
    makeFilter: Server.Filter?, fields: Fields, filteredFields: Fields, observer: (any ServerObserver)? = nil
  ) {
    self.loop = loop
    self.handler = handler
    self.limits = limits
    timeLimits = ConnectionMachine.TimeLimits(limits)
    self.state = state
    self.clock = clock
    self.makeFilter = makeFilter
    self.observer = observer
    handshakes = Handshakes(limit: limits.handshakes / loopCount, protection: limits.handshakeProtection)
    commonLines = fields.lines.flatMap { Array("\r\n\($0.name): \($0.value)".utf8) }
    filteredLines = commonLines + filteredFields.lines.flatMap { Array("\r\n\($0.name): \($0.value)".utf8) }
    withOutput { $0.reserveCapacity(32_768) }
  }

  // MARK: Connections

  func add(_ connection: Connection) {
    connection.place = connections.count
    connections.append(connection)
    if connection.isCounted {
      state.connections.add(1, ordering: .relaxed)
      observer?.connectionOpened(loop: loop.index)
    } else {
      refusals += 1
    }
  }

  func remove(_ connection: Connection) {
    if connection.isCounted {
      observer?.connectionClosed(loop: loop.index)
      state.connectionClosed()
    } else {
      refusals -= 1
    }
    let last = connections.removeLast()
    if last !== connection {
      connections[connection.place] = last
      last.place = connection.place
    }
  }

  /// Whether any connection waits for its client, so that closing it could make room for another.
  var mayMakeRoom: Bool { connections.contains { $0.isCounted && $0.machine.waitsSince != nil } }

  /// Makes room for one more connection: closes the one whose client has been silent longest. If all
  /// connections turn out to have requests with their handlers, one more is accepted anyway, below twice
  /// the limit.
  ///
  /// - Returns: Whether there is room.
  func makeRoom() -> Bool {
    while true {
      var longest: (connection: Connection, since: MonotonicTime)?
      for connection in connections where connection.isCounted {
        guard let since = connection.machine.waitsSince, since < longest?.since ?? .init(nanoseconds: .max)
        else {
          continue
        }
        longest = (connection, since)
      }
      guard let longest = longest?.connection else {
        return state.connections.load(ordering: .relaxed) < 2 * limits.connections
      }
      longest.giveWay()
      if longest.machine.phase == .closed { return true }
    }
  }

  /// Closes a connection whose client has finished writing and waits, to make room for another.
  ///
  /// - Returns: Whether there was such a connection.
  func closeFinishedWaiting() -> Bool {
    guard let token = finishedWaiting.first, let connection = connection(token) else { return false }
    connection.close()
    return true
  }

  /// Whether a new connection may begin its handshake, if necessary in place of the oldest one.
  var mayBeginHandshake: Bool { handshakes.hasRoom(now: loop.now) }

  /// Counts a handshake that has begun. If there are too many, the oldest is closed once its protection has
  /// expired. So clients that never finish block others only briefly, and honest clients do not end each
  /// other.
  func handshakeBegan(_ token: EventToken) {
    if let oldest = handshakes.oldestToEnd(now: loop.now) {
      connection(oldest)?.close()
      handshakes.end(oldest)
    }
    handshakes.begin(token, now: loop.now)
  }

  func handshakeEnded(_ token: EventToken) { handshakes.end(token) }

  /// The connection of a token, if it is still open.
  func connection(_ token: EventToken) -> Connection? { loop.receiver(token) as? Connection }

  /// Calls a function with every connection that is open now.
  func forEachConnection(_ body: (Connection) -> Void) {
    for connection in Array(connections) { body(connection) }
  }

  // MARK: Buffers

  /// Changes the output, which is taken out meanwhile. Then no access to the property lasts longer than a
  /// swap, and the compiler need not check each access at run time.
  @inline(__always) func withOutput<Result>(_ body: (inout [UInt8]) -> Result) -> Result {
    var taken: [UInt8] = []
    swap(&taken, &output)
    defer {
      precondition(output.isEmpty, "an answer within an answer")
      swap(&taken, &output)
    }
    return body(&taken)
  }

  /// Changes the filter's octets, as `withOutput` changes the output.
  @inline(__always) func withWire<Result>(_ body: (inout [UInt8]) -> Result) -> Result {
    var taken: [UInt8] = []
    swap(&taken, &wire)
    defer {
      precondition(wire.isEmpty, "a filter within a filter")
      swap(&taken, &wire)
    }
    return body(&taken)
  }

  /// Empties the output and the filter's octets.
  func discardOutput() {
    withOutput { $0.removeAll(keepingCapacity: true) }
    withWire { $0.removeAll(keepingCapacity: true) }
  }

  /// Sends as much of the output as the socket accepts, and empties it.
  /// - Returns: The result, and the octets that are left to send.
  func sendOutput(over socket: borrowing StreamSocket) -> (StreamSocket.Transfer, rest: [UInt8]) {
    var taken: [UInt8] = []
    swap(&taken, &output)
    let result = socket.send(taken)
    let sent = if case .bytes(let count) = result { count } else { 0 }
    let rest = sent < taken.count ? Array(taken[sent...]) : []
    taken.removeAll(keepingCapacity: taken.capacity <= 262_144)
    swap(&taken, &output)
    return (result, rest)
  }

  // MARK: Counting

  /// Reports a response to the observer, also if its client is gone.
  func count(_ status: Status, _ framing: AnswerFraming) {
    guard let observer else { return }
    let nanoseconds = framing.start.map { max(0, clock.now.nanoseconds.subtractingClamped($0.nanoseconds)) }
    observer.answered(
      AnswerReport(
        method: framing.method, route: framing.route, status: status.code, nanoseconds: nanoseconds),
      loop: loop.index)
  }

  /// Reports a connection that was closed because all connections together held too much memory.
  func countClosed(for reason: MemoryReason) { observer?.connectionClosed(for: reason, loop: loop.index) }

  // MARK: The server's lines

  /// Appends the rest of a head after the status line: lines of the response, lines of its framing, `Date`,
  /// `X-Request-Id`, the lines of all (or all filtered) responses, perhaps `Connection`, and the empty line.
  /// Then appends the content.
  func appendRest(
    of lines: [UInt8], _ fields: PreparedFields?, _ requestID: RequestID, closing: Bool, isFiltered: Bool,
    content: [UInt8]
  ) {
    refreshDate()
    let date = dateLine
    let added = fields?.lines ?? []
    let common = isFiltered ? filteredLines : commonLines
    let most =
      lines.count + added.count + date.count + RequestID.mostOctets + common.count + Self.mostEndOctets
      + content.count
    withOutput { output in
      output.append(upTo: most) { output in
        output.append(octets: lines.span)
        output.append(octets: added.span)
        output.append(octets: date.span)
        requestID.append(to: &output)
        output.append(octets: common.span)
        if closing {
          output.append(literal: "\r\nConnection: close\r\n\r\n")
        } else {
          output.append(literal: "\r\n\r\n")
        }
        output.append(octets: content.span)
      }
    }
  }

  /// The maximum size of a head's end, in octets: `Connection: close` and the empty line.
  private static let mostEndOctets = 32

  /// Reads the clock once per turn of the loop, and formats the date when the second has changed.
  private func refreshDate() {
    guard dateCheckedAt != loop.now else { return }
    dateCheckedAt = loop.now
    let second = clock.unixTime.seconds
    guard second != dateSecond else { return }
    dateSecond = second
    var line = Array("Date: ".utf8)
    HTTPDate.append(unixSeconds: second, to: &line)
    line.append(contentsOf: "\r\nX-Request-Id: ".utf8)
    dateLine = line
  }
}
