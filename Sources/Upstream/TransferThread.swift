// The one thread that runs all libcurl transfers and answers each caller exactly once.

import Dispatch
import HTTP
import Platform

/// The one thread that owns the multi handle: a work item that runs on its own serial queue from start to
/// shutdown.
///
/// Everything here happens on that thread, so nothing is locked. A transfer is in `transfers` from its
/// arrival to its end. Only `end` removes it and reports the result, so each caller gets exactly one result.
/// Only `poll` blocks, and no longer than to the next deadline, so each caller gets its result in time.
final class TransferThread {
  fileprivate enum Phase {
    case queued
    case resolving(since: MonotonicTime, connectBy: MonotonicTime, patientUntil: MonotonicTime)
    case running(CurlEasy)
  }

  fileprivate final class Transfer {
    let submission: TransferInbox.Submission
    var phase = Phase.queued
    /// Whether the transfer had to wait for a slot.
    var hasWaited = false

    init(_ submission: TransferInbox.Submission) { self.submission = submission }
  }

  /// The time after a response during which an HTTP/2 connection is assumed to be open.
  private static let confidence = Duration.seconds(60)

  /// The shortest time between two checks for waiting requests that can no longer end in time.
  private static let expiryInterval = Duration.milliseconds(5)

  private let settings: TransportSettings
  private let multi: CurlMulti
  private let clock = SystemClock()
  private let inbox: TransferInbox
  private let lookUp: NameLookup.Function
  private var transfers: [ObjectIdentifier: Transfer] = [:]
  private var queues: [TransferRoute.Place: AdmissionQueue<ObjectIdentifier>] = [:]
  /// With HTTP/2: the time of the last response at each place.
  private var answeredAt: [TransferRoute.Place: MonotonicTime] = [:]
  /// The places whose waiting transfers may start now.
  private var freed: Set<TransferRoute.Place> = []
  private var names: NameCache
  private var sessions: SharedSessions
  private var waitingForNames: Set<ObjectIdentifier> = []
  /// The earliest time at which a transfer needs attention.
  private var nextAlarm = MonotonicTime(nanoseconds: .max)

  init(
    settings: TransportSettings, multi: CurlMulti, inbox: TransferInbox, names: NameCache,
    lookUp: @escaping NameLookup.Function
  ) {
    self.settings = settings
    self.multi = multi
    self.inbox = inbox
    self.names = names
    sessions = SharedSessions(lifetime: settings.sessionLifetime)
    self.lookUp = lookUp
  }

  /// Works until the shutdown, then completes every transfer with an error and closes every connection.
  func run() {
    while readInbox() {
      for finished in multi.perform() { end(finished.easy.id, finished.easy.outcome(finished.code)) }
      ringAlarms()
      admitWaiting()
      startLookups()
      multi.poll(milliseconds: Self.milliseconds(from: clock.now, to: nextAlarm))
    }
    for (id, transfer) in transfers {
      end(id, failure(.cancelled, transfer, "the transport is shut down"))
    }
    multi.close()
  }

  /// Handles the messages of the inbox. Returns false at the shutdown.
  private func readInbox() -> Bool {
    var goesOn = true
    for message in inbox.take() {
      switch message {
      case .submit(let submission): enter(submission)
      case .cancel(let ticket):
        guard let transfer = transfers[ticket.id] else { continue }
        end(ticket.id, failure(.cancelled, transfer, "the task was cancelled"))
      case .resume(let ticket): resume(ticket.id)
      case .found(let name, let result): found(name, result)
      case .stop: goesOn = false
      }
    }
    return goesOn
  }

  // MARK: The life of a transfer

  private func enter(_ submission: TransferInbox.Submission) {
    let id = submission.ticket.id
    let now = clock.now
    transfers[id] = Transfer(submission)
    if submission.ticket.isCancelled {
      endUnsent(id, .cancelled, "the task was cancelled")
    } else if submission.ticket.startBy <= now {
      endUnsent(id, .timedOut, "the deadline passed before the request began")
    } else {
      setAlarm(submission.ticket.startBy)
      let place = submission.plan.route.place
      let limits = AdmissionQueue<ObjectIdentifier>.Limits(
        running: runningLimit(of: place, now: now), later: settings.multiplexing?.streams ?? 0,
        waiting: settings.waitingPerPath)
      if queues[place] == nil { queues = queues.filter { !$0.value.isForgotten(at: now) } }
      queues[place, default: .init(limits)].limits = limits
      let admission = queues[place, default: .init(limits)]
        .enter(id, deadline: submission.ticket.deadline, now: now)
      switch admission {
      case .starts: start(id)
      case .waits(let until):
        transfers[id]?.hasWaited = true
        setAlarm(until)
      case .refused(let wait): refuse(id, retryAfter: wait)
      }
    }
  }

  /// The maximum number of transfers to a place at once.
  ///
  /// Over HTTP/2, the first transfer runs alone, because the client does not know yet how many streams the
  /// server allows. APNs allows one until it has accepted a provider token, and refuses the others.
  private func runningLimit(of place: TransferRoute.Place, now: MonotonicTime) -> Int {
    guard let multiplexing = settings.multiplexing else { return settings.transfersPerPath }
    guard let last = answeredAt[place], now - last < Self.confidence else { return 1 }
    return multiplexing.streams
  }

  private func endUnsent(_ id: ObjectIdentifier, _ reason: TransportError.Reason, _ detail: String) {
    end(id, .failure(TransportError(reason, sent: false, detail: detail)))
  }

  private func refuse(_ id: ObjectIdentifier, retryAfter wait: Duration) {
    let detail = "too many requests are waiting"
    end(id, .failure(TransportError(.overloaded, sent: false, detail: detail, retryAfter: wait)))
  }

  /// Starts waiting requests at every place where a transfer has ended.
  private func admitWaiting() {
    // A started transfer may end at once, and make room again.
    while let place = freed.popFirst() {
      let now = clock.now
      guard let admitted = queues[place]?.admit(now: now) else { continue }
      refuse(admitted.late, at: place, now: now)
      for id in admitted.starts { start(id) }
    }
  }

  private func refuse(_ late: [ObjectIdentifier], at place: TransferRoute.Place, now: MonotonicTime) {
    guard !late.isEmpty, let wait = queues[place]?.retryAfterLate(now: now) else { return }
    for id in late { refuse(id, retryAfter: wait) }
  }

  /// Starts a transfer that has a slot. The time for connecting runs from now.
  private func start(_ id: ObjectIdentifier) {
    let now = clock.now
    guard let startBy = transfers[id]?.submission.ticket.startBy else { return }
    let connectBy = min(now + settings.connectTimeout, startBy)
    let patientUntil = now + names.policy.patience
    transfers[id]?.phase = .resolving(since: now, connectBy: connectBy, patientUntil: patientUntil)
    setAlarm(connectBy)
    setAlarm(patientUntil)
    waitingForNames.insert(id)
    resolve(id, now: now)
  }

  /// Resumes a response that its reader has paused.
  private func resume(_ id: ObjectIdentifier) {
    guard let transfer = transfers[id], case .running(let easy) = transfer.phase else { return }
    if let outcome = easy.resume() { end(id, outcome) }
  }

  /// Hands the transfer to libcurl once every name has an address.
  private func resolve(_ id: ObjectIdentifier, now: MonotonicTime) {
    guard let transfer = transfers[id],
      case .resolving(let start, let connectBy, let patientUntil) = transfer.phase
    else {
      return
    }
    var resolutions: [CurlEasy.Resolution] = []
    for (host, port) in transfer.submission.plan.route.hostsToResolve {
      switch host == "localhost" ? .addresses(TransferPlan.loopback) : names.ask(host, now: now) {
      case .addresses(let addresses):
        resolutions.append(.init(host: host, port: port, addresses: addresses))
      case .failed(let failure):
        let party: TransportDiagnosis.Party =
          host == transfer.submission.plan.route.proxy?.host ? .proxy : .server
        let diagnosis = TransportDiagnosis(party, failure.isTemporary ? .resolver : .unknownName)
        return end(
          id, self.failure(.nameResolution, transfer, "\(host): \(failure.detail)", diagnosis))
      case .wait:
        guard now >= patientUntil, let addresses = names.old(host, now: now) else { return }
        resolutions.append(.init(host: host, port: port, addresses: addresses))
      }
    }
    guard now < transfer.submission.ticket.startBy else {
      return end(id, failure(.timedOut, transfer, "the time to start passed while resolving the name"))
    }
    waitingForNames.remove(id)
    // If the time to start ends first, `ringAlarms` must end the transfer, not libcurl's timer.
    let isAlarm = connectBy == transfer.submission.ticket.startBy
    let limit = isAlarm ? connectBy + .milliseconds(100) : connectBy
    run(
      id, transfer, resolutions, resolvedIn: now - start,
      milliseconds: Self.milliseconds(from: now, to: limit))
  }

  private func run(
    _ id: ObjectIdentifier, _ transfer: Transfer, _ resolutions: [CurlEasy.Resolution],
    resolvedIn duration: Duration, milliseconds: Int32
  ) {
    do throws(TransportError) {
      let easy = try CurlEasy(
        ticket: transfer.submission.ticket, plan: transfer.submission.plan, settings: settings,
        share: sessions.current(clock.now),
        resolutions: resolutions, resolvedIn: duration, connectMilliseconds: max(1, Int(milliseconds)))
      guard multi.add(easy) else {
        throw TransportError(.connect, sent: false, detail: "curl_multi_add_handle failed")
      }
      transfers[id]?.phase = .running(easy)
    } catch {
      end(id, .failure(error))
    }
  }

  /// Reports the result, and releases the transfer's resources.
  private func end(_ id: ObjectIdentifier, _ result: Result<InboundResponse, TransportError>) {
    guard let transfer = transfers.removeValue(forKey: id) else { return }
    if case .failure(let error) = result, error.reason == .tls { sessions.forget() }
    let place = transfer.submission.plan.route.place
    switch transfer.phase {
    case .queued: _ = queues[place]?.abandon(id)
    case .resolving:
      waitingForNames.remove(id)
      leave(place, id, result)
    case .running(let easy):
      multi.remove(easy)
      leave(place, id, result)
    }
    transfer.submission.answer(result)
  }

  private func leave(
    _ place: TransferRoute.Place, _ id: ObjectIdentifier, _ result: Result<InboundResponse, TransportError>
  ) {
    var ending = AdmissionQueue<ObjectIdentifier>.Ending.finished
    if case .failure(let error) = result, [.timedOut, .cancelled].contains(error.reason) {
      ending = .cutShort
    }
    let now = clock.now
    if settings.multiplexing != nil {
      switch result {
      case .success: answeredAt[place] = now
      case .failure(let error):
        if ending == .finished, error.head == nil { answeredAt[place] = nil }
      }
      queues[place]?.limits.running = runningLimit(of: place, now: now)
    }
    queues[place]?.leave(id, ending, now: now)
    freed.insert(place)
  }

  private func failure(
    _ reason: TransportError.Reason, _ transfer: Transfer, _ detail: String,
    _ diagnosis: TransportDiagnosis? = nil
  ) -> Result<InboundResponse, TransportError> {
    var error = TransportError(reason, sent: false, detail: detail, diagnosis: diagnosis)
    error.isCurtailed = transfer.hasWaited
    if case .running(let easy) = transfer.phase {
      error.sent = easy.mayHaveSent
      error.head = easy.head
      if reason == .timedOut { error.diagnosis = diagnosis ?? easy.timeoutDiagnosis }
    }
    return .failure(error)
  }

  // MARK: Names

  private func startLookups() {
    for name in names.takeLookups(now: clock.now) {
      lookUp(name) { [inbox] result in inbox.found(name, result) }
    }
  }

  private func found(_ name: String, _ result: NameCache.Result) {
    let now = clock.now
    names.finish(name, result, now: now)
    for id in waitingForNames { resolve(id, now: now) }
  }

  // MARK: Time

  private func setAlarm(_ time: MonotonicTime) { nextAlarm = min(nextAlarm, time) }

  private func ringAlarms() {
    let now = clock.now
    guard now >= nextAlarm else { return }
    nextAlarm = MonotonicTime(nanoseconds: .max)
    for place in queues.keys {
      guard let late = queues[place]?.expire(now: now) else { continue }
      refuse(late, at: place, now: now)
      if let next = queues[place]?.nextExpiry { setAlarm(max(next, now + Self.expiryInterval)) }
    }
    for (id, transfer) in transfers {
      let due = transfer.due
      switch transfer.phase {
      case _ where now >= due:
        let time = now >= transfer.submission.ticket.deadline ? "the deadline" : "the time to start"
        end(id, failure(.timedOut, transfer, "\(time) passed \(transfer.phaseText)"))
      case .resolving(_, let connectBy, _) where now >= connectBy:
        let party: TransportDiagnosis.Party = transfer.submission.plan.route.proxy == nil ? .server : .proxy
        end(
          id,
          failure(
            .nameResolution, transfer, "the resolver did not respond in time",
            TransportDiagnosis(party, .resolver)))
      case .resolving(_, let connectBy, let patientUntil):
        if now >= patientUntil { resolve(id, now: now) } else { setAlarm(patientUntil) }
        setAlarm(min(connectBy, due))
      case .queued, .running:
        setAlarm(due)
      }
    }
  }

  /// The time to a point in whole milliseconds, rounded up so that a wait does not end short of it.
  private static func milliseconds(from now: MonotonicTime, to then: MonotonicTime) -> Int32 {
    guard then > now else { return 0 }
    let left = then.nanoseconds.subtractingClamped(now.nanoseconds).addingClamped(999_999) / 1_000_000
    return Int32(min(left, 60_000))
  }
}

extension TransferThread.Transfer {
  /// The deadline of the transfer: `startBy` until a byte may have been sent, then the request's deadline.
  fileprivate var due: MonotonicTime {
    if case .running(let easy) = phase, easy.mayHaveSent { return submission.ticket.deadline }
    return submission.ticket.startBy
  }

  fileprivate var phaseText: String {
    switch phase {
    case .queued: "while waiting for a slot"
    case .resolving: "while resolving the name"
    case .running(let easy): easy.phase
    }
  }
}
