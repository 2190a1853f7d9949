// The state machine of a connection: decides when to read, respond, wait, time out and close.

import HTTP
import Platform

/// The life of a connection as a state machine: an event and the time go in, at most one action comes out.
/// The machine uses no socket, no buffer and no clock, so that tests step through a day in a microsecond.
struct ConnectionMachine {
  /// The stage of a connection's life.
  enum Phase: Equatable {
    /// Open, and nothing has arrived.
    case opened
    /// Between requests.
    case idle
    /// Within a head.
    case head
    /// Within content.
    case content
    /// A request is with its handler. Nothing is read meanwhile.
    case handling
    /// The last response is being sent.
    case ending
    /// The last response was sent and announced the end. Later octets are read and dropped.
    case lingering
    case closed
  }

  /// Whether and how a connection ends after a response.
  enum Ending: Equatable {
    case keepAlive
    /// The client asked to close and sends nothing more: close at once.
    case close
    /// The client may still be sending: continue to read, or the response could be lost.
    case linger
  }

  enum Event {
    /// Octets were parsed, and the request is incomplete.
    case parsed(RequestParser.Phase)
    /// A request is complete and goes to its handler, or its head waits for the handler's judgment.
    case request
    /// The handler has not refused the head: the content may arrive.
    case judged
    /// The response is in the output.
    case answered(Ending)
    /// The connection has tried to send the output.
    case flushed(progress: Bool, isEmpty: Bool)
    /// Octets were read and dropped.
    case dropped(Int)
    /// The client has finished writing.
    case inputEnded
    /// The deadline may have passed.
    case time
    /// The server shuts down.
    case shutDown
  }

  enum Action: Equatable {
    case none
    /// Append a refusal to the output, then step with `answered(.linger)`.
    case refuse(RequestFailure)
    /// Send FIN, and continue to read.
    case finish
    case close
  }

  private let limits: TimeLimits
  private(set) var phase = Phase.opened
  private var ending = Ending.keepAlive
  /// Whether output waits for the client to read. Nothing is read meanwhile.
  private(set) var isBlocked = false
  /// The start of the current phase's time limit.
  private var since: MonotonicTime
  /// The time when the client last read something, or when output began to wait for it.
  private var progressAt: MonotonicTime
  private var droppedBytes = 0
  /// The time when a connection without a first request closes during shutdown; nil before shutdown.
  private var opensUntil: MonotonicTime?
  /// How long a connection without a first request stays open during shutdown, in nanoseconds. A client
  /// that has just connected is about to send a request and could not tell the close from a failure. A used
  /// connection may be closed at any time (RFC 9112 §9.6).
  static let firstRequestGrace: Int64 = 1_000_000_000

  /// The limits, with times in nanoseconds. They are computed once, because the machine sets a deadline for
  /// every request.
  struct TimeLimits {
    let header, request, idle, write, linger: Int64
    let lingerBytes: Int

    init(_ limits: ServerLimits) {
      header = limits.headerTimeout.nanosecondsClamped
      request = limits.requestTimeout.nanosecondsClamped
      idle = limits.idleTimeout.nanosecondsClamped
      write = limits.writeTimeout.nanosecondsClamped
      linger = limits.lingerTimeout.nanosecondsClamped
      lingerBytes = limits.lingerBytes
    }
  }

  init(limits: TimeLimits, now: MonotonicTime) {
    self.limits = limits
    since = now
    progressAt = now
  }

  /// Whether more of a request may be parsed. False while the client leaves responses unread (back-pressure).
  var wantsInput: Bool {
    switch phase {
    case .opened, .idle, .head, .content: !isBlocked
    case .handling, .ending, .lingering, .closed: false
    }
  }

  /// Whether received octets are dropped.
  var dropsInput: Bool { phase == .lingering }

  /// The start of the current phase's time limit, if the server waits for the client. Nil while a request
  /// is with its handler, and after the close.
  var waitsSince: MonotonicTime? {
    switch phase {
    case .opened, .idle, .head, .content, .ending, .lingering: since
    case .handling, .closed: nil
    }
  }

  /// The time at which the next `time` event is due; nil for none.
  var deadline: MonotonicTime? {
    if isBlocked { return progressAt + limits.write }
    switch phase {
    case .opened: return min(since + limits.header, opensUntil ?? MonotonicTime(nanoseconds: .max))
    case .head: return since + limits.header
    case .idle: return since + limits.idle
    case .content: return since + limits.request
    case .lingering: return since + limits.linger
    case .handling, .ending, .closed: return nil
    }
  }

  mutating func step(_ event: Event, now: MonotonicTime) -> Action {
    switch event {
    case .parsed(let parserPhase):
      parsed(parserPhase, now)
      return .none
    case .request:
      phase = .handling
      return .none
    case .judged:
      phase = .content
      // The client did not cause the wait.
      since = now
      return .none
    case .answered(let ending):
      self.ending = ending
      phase = ending == .keepAlive ? .idle : .ending
      since = now
      return .none
    case .flushed(let progress, let isEmpty):
      return flushed(progress, isEmpty, now)
    case .dropped(let count):
      droppedBytes += count
      return phase == .lingering && droppedBytes > limits.lingerBytes ? close() : .none
    case .inputEnded:
      return inputEnded()
    case .time:
      return time(now)
    case .shutDown:
      if phase == .opened { opensUntil = now + Self.firstRequestGrace }
      return phase == .idle && !isBlocked ? close() : .none
    }
  }

  private mutating func parsed(_ parserPhase: RequestParser.Phase, _ now: MonotonicTime) {
    switch (phase, parserPhase) {
    // The first request's time starts when the connection opens, so that silence does not extend it.
    case (.opened, .head): phase = .head
    case (.opened, .content): phase = .content
    case (.idle, .head), (.idle, .content):
      phase = parserPhase == .head ? .head : .content
      since = now
    case (.head, .content): phase = .content
    default: break
    }
  }

  private mutating func flushed(_ progress: Bool, _ isEmpty: Bool, _ now: MonotonicTime) -> Action {
    if isEmpty {
      if isBlocked {
        isBlocked = false
        // Input was not read while responses were unread, so the time of a partial request starts again.
        since = now
      }
    } else {
      if progress || !isBlocked { progressAt = now }
      isBlocked = true
      return .none
    }
    guard phase == .ending else { return .none }
    if ending == .close { return close() }
    phase = .lingering
    since = now
    return .finish
  }

  private mutating func inputEnded() -> Action {
    switch phase {
    case .opened, .idle, .lingering: close()
    // RFC 9112 §8: an incomplete request. The client may still read, so it gets a response.
    case .head, .content: .refuse(.malformed)
    case .handling, .ending, .closed: .none
    }
  }

  private mutating func time(_ now: MonotonicTime) -> Action {
    guard let deadline, deadline <= now else { return .none }
    if isBlocked { return close() }
    switch phase {
    case .opened, .idle, .lingering: return close()
    case .head, .content: return .refuse(.timedOut)
    case .handling, .ending, .closed: return .none
    }
  }

  /// Marks the connection as closed, by an action or because it broke.
  @discardableResult
  mutating func close() -> Action {
    phase = .closed
    return .close
  }
}

extension MonotonicTime {
  /// Adds nanoseconds; saturates.
  fileprivate static func + (point: Self, nanoseconds: Int64) -> Self {
    Self(nanoseconds: point.nanoseconds.addingClamped(nanoseconds))
  }
}
