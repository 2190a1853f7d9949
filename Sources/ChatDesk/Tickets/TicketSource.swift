// Opens tickets at one chat desk: finds the customer, creates the ticket at most once, and sends its first
// message.

package import Gate
package import HTTP
import JOSE
package import Platform
import Synchronization
import Texts
package import Tokens

/// The source of tickets for one chat desk.
///
/// Every method may be called from any thread. Failures that affect every user start a cool-down, as for
/// session tokens. The cool-downs are separate, because the desk has its own host and token.
package final class TicketSource: Sendable {
  private struct State {
    var api: SendbirdAPI
    var standing = SendbirdStanding()
  }

  private let state: Mutex<State>
  private let time: any TimeSource
  private let observe: @Sendable (SendbirdReport) -> Void
  private let jitter: @Sendable () -> Double

  /// Creates a source. It sends nothing until a ticket is opened.
  ///
  /// - Parameters:
  ///   - api: The API, with the settings for tickets.
  ///   - observe: Called with a report of each request. Must return at once.
  ///   - jitter: Returns a random number in 0..<1, which varies the cool-downs.
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

  /// The time left of the longest cool-down of the desk's host; nil if there is none.
  package var coolDown: Duration? { state.withLock { $0.standing.coolingDown(time.now)?.remaining } }

  /// Ends all cool-downs. For the sandbox.
  package func endCoolDowns() { state.withLock { $0.standing.endCoolDowns() } }

  // MARK: Tickets

  /// Finds the desk's customer for a user, or creates one. May be repeated, because a user has only one
  /// customer.
  ///
  /// - Parameter name: The nickname for the user, if Sendbird does not know the user yet or the user has
  ///   none.
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

  /// Creates a ticket with a single request, which is never retried, and sends the first message if there is
  /// one.
  ///
  /// The task must not be canceled.
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
      // A 403 without a code may come from a firewall, so it does not mean that the desk refused the ticket.
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
      // The ticket exists. The response says that its message was not sent, or may not have been sent.
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

  /// Applies other settings of the same application. If the desk's or the application's token changed, the
  /// cool-down of the old credential ends.
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

  /// Whether the latest request whose result applies to all users succeeded. Also true before the first
  /// request.
  package var isWell: Bool { state.withLock { $0.standing.latest?.failure == nil } }
}

extension SendbirdAPI {
  /// Finds the customer for a user, or creates one. Creates the user, too, if Sendbird does not know the
  /// user.
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

  /// Checks whether the desk accepts its token, by a search for a customer that does not exist. Changes
  /// nothing.
  /// - Returns: Nil if the desk accepts it.
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
  /// Whether there was a response to a failed request that the desk may have carried out. Nil if the desk
  /// certainly did not carry it out.
  fileprivate var mayHaveBeenObeyed: Bool? {
    switch cause {
    case .refused, .rateLimited, .signingFailed, .signer, .unavailable(status: 503, _): nil
    case .unavailable, .redirected, .failed, .unusableReply: true
    case .timedOut(let sent): sent ? false : nil
    case .transport(let error): error.sent ? false : nil
    }
  }
}
