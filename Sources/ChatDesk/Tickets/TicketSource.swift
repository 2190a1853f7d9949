// Opens tickets at one chat desk: finds the customer, creates the ticket at most once, and sends its first message.

package import Gate
package import HTTP
import JOSE
package import Platform
import Synchronization
import Texts
package import Tokens

/// Where the tickets of one chat desk are opened.
///
/// Any thread may call anything. Failures that concern every user cool down as those of session tokens do, but apart from them: the
/// desk has a host and a token of its own.
package final class TicketSource: Sendable {
  private struct State {
    var api: SendbirdAPI
    var standing = SendbirdStanding()
  }

  private let state: Mutex<State>
  private let time: any TimeSource
  private let observe: @Sendable (SendbirdReport) -> Void
  private let jitter: @Sendable () -> Double

  /// Makes a source; it asks nothing before a ticket does.
  ///
  /// - Parameters:
  ///   - api: With the settings of the desk's API.
  ///   - observe: Gets a report of every single request. It must return at once.
  ///   - jitter: Random numbers in 0..<1.
  package init(
    _ api: SendbirdAPI, time: any TimeSource,
    observe: @escaping @Sendable (SendbirdReport) -> Void = { _ in },
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    precondition(api.settings.desk != nil)
    state = Mutex(State(api: api))
    self.time = time
    self.observe = observe
    self.jitter = jitter
  }

  // MARK: Cool-downs

  /// How long the desk's host is left alone yet; nil if it is asked.
  package var coolDown: Duration? { state.withLock { $0.standing.coolingDown(time.now)?.remaining } }

  /// Ends its cool-downs. For the sandbox.
  package func endCoolDowns() { state.withLock { $0.standing.endCoolDowns() } }

  // MARK: Tickets

  /// Finds the desk's customer of a user, and makes one if there is none. May be repeated: a user has one customer.
  ///
  /// - Parameter name: The nickname of the user where Sendbird does not know the user yet, or knows no nickname.
  package func customer(
    of user: DeskUser, named name: String? = nil, deadline: MonotonicTime, trace: TraceContext? = nil
  ) async throws(TokenError) -> CustomerID {
    let (api, epoch) = state.withLock { ($0.api, $0.standing.epoch) }
    if let (cause, rest) = state.withLock({ $0.standing.coolingDown(time.now) }) {
      throw .coolingDown(cause: cause, retryAfter: rest)
    }
    let start = time.now
    do throws(SendbirdFailure) {
      let observe: @Sendable (SendbirdReport) -> Void = { [self] in note($0, epoch) }
      let customer = try await api.customer(
        of: user.id, named: name ?? "", deadline: deadline, trace: trace, observe: observe)
      if let name, !name.isEmpty { await api.giveNickname(name, to: user.id, deadline, trace, observe) }
      state.withLock { $0.standing.succeeded(startedAt: start, of: epoch) }
      return customer
    } catch {
      throw failed(error, of: user.id, startedAt: start, epoch)
    }
  }

  /// Creates a ticket with one request, which is never repeated, and sends its first message if it has one.
  ///
  /// The task must not be cancelled.
  package func open(
    _ ticket: NewTicket, _ grant: consuming Grant, of user: DeskUser, _ customer: CustomerID,
    deadline: MonotonicTime, trace: TraceContext? = nil
  ) async -> TicketOutcome {
    precondition(grant.action == .ticket, "a ticket without a grant")
    precondition(user.isNamed(by: grant), "a ticket of another user than was granted")
    let (api, epoch) = state.withLock { ($0.api, $0.standing.epoch) }
    let start = time.now
    guard start + SendbirdAPI.shortestAttempt < deadline else { return .notOpened(.late) }
    let observe: @Sendable (SendbirdReport) -> Void = { [self] in note($0, epoch) }
    let opened: OpenedTicket
    do throws(SendbirdFailure) {
      opened = try await api.send(
        DeskAPI.create(ticket, for: customer), deadline, trace?.child(), observe, reading: DeskAPI.ticket)
    } catch {
      let failure = failed(error, of: user.id, startedAt: start, epoch)
      if let isAnswered = error.mayHaveBeenObeyed { return .unknown(isAnswered: isAnswered) }
      // A 403 without a code may be a firewall's, which says nothing about the ticket.
      switch error.concern {
      case .everyUser, .perhapsEveryUser: return .notOpened(.failed(failure))
      case .thisUser, .unknownUser, .knownUser: break
      }
      if error.cause.status == 403 { return .notOpened(.failed(failure)) }
      return .notOpened(.rejected)
    }
    guard let message = ticket.message else { return .opened(opened, isMessageSent: false) }
    do throws(SendbirdFailure) {
      try await api.send(
        DeskAPI.firstMessage(message, of: user.id, in: opened.channelURL), deadline, trace?.child(), observe
      ) { _ in }
      return .opened(opened, isMessageSent: true)
    } catch {
      // The ticket is there. The response says that its message is not, or may not be.
      return .opened(opened, isMessageSent: false)
    }
  }

  private func note(_ report: SendbirdReport, _ epoch: Int) {
    observe(report)
    state.withLock { $0.standing.note(report, of: epoch) }
  }

  private func failed(
    _ failure: SendbirdFailure, of user: UserID, startedAt start: MonotonicTime, _ epoch: Int
  ) -> TokenError {
    if case .transport(let error) = failure.cause, error.reason == .cancelled { return .cancelled }
    let (now, unit) = (time.now, jitter())
    return state.withLock { state in
      let failure = state.standing.judged(failure, of: user, of: epoch, now: now)
      return state.standing.failed(failure, startedAt: start, of: epoch, now: now, unit: unit)
    }
  }

  // MARK: Operating

  /// Takes other settings of the same application into use. With another token, of the desk or of the application, the cool-down ends.
  package func reconfigure(_ settings: SendbirdSettings) {
    precondition(settings.desk != nil)
    state.withLock { state in
      let (old, oldDesk) = (state.api.settings.apiToken, state.api.settings.desk?.apiToken)
      state.api = state.api.with(settings)
      let isSame =
        settings.apiToken.isEqual(to: old.exposedBytes())
        && settings.desk?.apiToken.isEqual(to: oldDesk?.exposedBytes() ?? []) == true
      if !isSame { state.standing.begin(hasSameToken: false) }
    }
  }

  /// Whether the latest request that says anything about all users succeeded, or none was made.
  package var isWell: Bool { state.withLock { $0.standing.latest?.failure == nil } }
}

extension SendbirdAPI {
  /// Finds the customer of a user, or makes one, with the user if Sendbird does not know it.
  fileprivate func customer(
    of user: UserID, named name: String, deadline: MonotonicTime, trace: TraceContext?,
    observe: @Sendable (SendbirdReport) -> Void
  ) async throws(SendbirdFailure) -> CustomerID {
    try await persist(creating: user, nickname: name, deadline, trace, observe) {
      () async throws(SendbirdFailure) in
      let known = try await send(
        DeskAPI.customer(of: user), deadline, trace?.child(), observe
      ) { (content: [UInt8]) throws(UnusableReply) in try DeskAPI.customer(of: user, in: content) }
      if let known { return known }
      return try await send(
        DeskAPI.newCustomer(user), deadline, trace?.child(), observe, reading: DeskAPI.newCustomer(in:))
    }
  }

  /// Finds out whether the desk takes its token, by a search for a customer that does not exist. Changes nothing.
  /// - Returns: Nil if it does.
  package func checkDesk() async -> SendbirdFailure? {
    let missing = UserID(text: "callgate-doctor")
    do throws(SendbirdFailure) {
      _ = try await send(
        DeskAPI.customer(of: missing), time.now + settings.deadline, nil, { _ in },
        reading: { (content: [UInt8]) throws(UnusableReply) in try DeskAPI.customer(of: missing, in: content)
        })
      return nil
    } catch {
      return error
    }
  }
}

extension SendbirdFailure {
  /// Whether the request may have been obeyed although it failed, and if so, whether there was a response. Nil if it certainly was not.
  fileprivate var mayHaveBeenObeyed: Bool? {
    switch cause {
    case .refused, .rateLimited, .signingFailed, .signer, .unavailable(status: 503, _): nil
    case .unavailable, .redirected, .failed, .unusableReply: true
    case .timedOut(let sent): sent ? false : nil
    case .transport(let error): error.sent ? false : nil
    }
  }
}
