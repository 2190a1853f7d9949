// Finds due notifications about callbacks, and sends each at its time.

package import Configuration
import Gate
import JOSE
import Metrics
import Notices
package import Platform
package import Records
package import Store
import Synchronization

/// Sends notifications about callbacks. The keeper reads the store each second, and waits for notifications
/// that are due soon. A process has one keeper.
///
/// Instances do not divide notifications among themselves. The instance whose `takeNotice` the store accepts
/// sends the notification. Each provider has its own limit, so a slow or stopped provider does not delay the
/// others.
package final class NoticeKeeper: Sendable {
  /// The parts of a configuration for notifications.
  package struct Setting: Sendable {
    let senders: NoticeSenders
    let texts: Configuration.Notices.Texts

    package init(senders: NoticeSenders, texts: Configuration.Notices.Texts) {
      self.senders = senders
      self.texts = texts
    }
  }

  /// The maximum number of notifications that are being sent to one provider at once.
  static let mostInHand = 256
  /// The time for which this instance reserves a notification: longer than an attempt takes. After that,
  /// another instance may send it.
  static let lease = Duration.seconds(20)
  /// The time for which a provider stores the notification of a starting call for a phone that is off.
  private static let callingLife = Duration.seconds(30)
  /// The waits after failed attempts, if the provider names none.
  static let pauses: [Duration] = [.seconds(2), .seconds(15)]

  private struct State {
    var inHand: [CallbackID: PushPlatform] = [:]
    /// The providers for which the last read found more notifications than there was room for.
    var hasMore: Set<PushPlatform> = []
  }

  private let book: NoticeBook
  private let claims: ClaimBook
  private let scheduler: any TimeSource
  private let metrics: ServiceMetrics
  private let isClockRight: @Sendable () -> Bool
  private let setting: @Sendable () -> Setting?
  private let loop: DueLoop
  private let state = Mutex(State())

  /// Creates a keeper that does nothing before `run`.
  ///
  /// - Parameters:
  ///   - claims: Finds devices, and removes those that their providers do not know.
  ///   - scheduler: The clock of appointments. In the sandbox it may differ from the clock for everything
  ///     else.
  ///   - isClockRight: Whether this process may decide by its clock (`StoreHealth.isClockRight`). If not, it
  ///     leaves all notifications to others.
  ///   - setting: The current configuration; nil if no notifications are sent.
  package init(
    _ book: NoticeBook, _ claims: ClaimBook, scheduler: any TimeSource, metrics: ServiceMetrics,
    isClockRight: @escaping @Sendable () -> Bool, setting: @escaping @Sendable () -> Setting?
  ) {
    self.book = book
    self.claims = claims
    self.scheduler = scheduler
    self.metrics = metrics
    self.isClockRight = isClockRight
    self.setting = setting
    loop = DueLoop(clock: scheduler)
  }

  /// Stops starting notifications. `run` ends when the notifications being sent are settled.
  package func stop() { loop.stop() }

  // MARK: A call that comes now

  /// Notifies the device of an appointment, in the background, that its call comes now. Tries for a few
  /// seconds only, because the text would be wrong later. The notification about the callback's end follows
  /// anyway.
  ///
  /// - Parameters:
  ///   - record: The record of a callback that Talkdesk has accepted.
  ///   - number: The number that the call comes from, if it is known.
  package func announce(_ record: StoredCallback, from number: String?) {
    guard let setting = setting(), let told = record.notices else { return }
    Task { [self] in
      let outcome = await announcement(of: record, told, from: number, setting)
      metrics.callbackNotices.count(NoticeAction.calling.rawValue, outcome == .taken ? "taken" : "dropped")
    }
  }

  private func announcement(
    of record: StoredCallback, _ told: CallbackNotices, from number: String?, _ setting: Setting
  ) async -> NoticeSenders.Outcome {
    let device: StoredDevice?
    let id: NoticeID
    let now = claims.now
    do {
      device = told.installation.isDevice ? nil : try await claims.device(of: told.installation)
      id = try NoticeID.make(book.keys)
      // Save the notification before it is sent, because the app may ask about it at once.
      try await claims.store.keepNotice(
        StoredNotice(
          id: id.digest, callback: record.id, installation: told.installation, action: .calling,
          serial: told.serial, created: now))
    } catch {
      // Without a device, a store or random bytes, the phone rings without a notification.
      return .notTaken(retryAfter: nil)
    }
    guard let token = device?.pushToken ?? told.device?.opened(for: record.id, book.keys) else {
      return .deviceGone
    }
    let ends = now.advanced(by: Self.callingLife)
    let outcome = await setting.senders.send(
      Notice(
        id: id, action: .calling, text: setting.texts.calling(from: number),
        ends: UnixTime(seconds: ends.seconds, nanoseconds: ends.nanoseconds)), to: token
    ) { true }
    if outcome == .taken, let device { await claims.used(device) }
    return outcome
  }

  // MARK: The loop

  /// Reads and waits until `stop`, and then until the notifications being sent are settled.
  package func run() async {
    await withDiscardingTaskGroup { group in
      var reach = NoticeReach()
      await loop.run(
        read: {
          guard let setting = setting(), isClockRight() else { return [] }
          reach.use(setting.senders)
          return await look(setting.senders, &reach)
        }, mayBegin: { setting() != nil && isClockRight() }, wait: wait(for:),
        begin: { notice in
          guard let setting = setting(), begin(notice) else { return }
          group.addTask { await self.handle(notice, setting) }
        })
    }
  }

  // MARK: Times

  /// The current times. Appointments use the scheduler's clock, and ends of callbacks may use either clock.
  /// If the clocks differ, an end is announced at once, and does not expire early.
  private var times: (asked: Instant, earlier: Instant, later: Instant) {
    let (asked, other) = (Instant(scheduler.unixTime), Instant(book.clock.unixTime))
    return (asked, min(asked, other), max(asked, other))
  }

  /// The time until a notification is due; negative after that.
  private func wait(for notice: DueNotice) -> Duration {
    notice.due - (notice.action.asks ? times.asked : times.later)
  }

  /// The time until a notification is no longer useful.
  private func left(of notice: DueNotice) -> Duration {
    notice.ends - (notice.action.asks ? times.asked : times.earlier)
  }

  // MARK: Looking

  /// Notifications that are due soon and not being sent, earliest first.
  private func look(_ senders: NoticeSenders, _ reach: inout NoticeReach) async -> [DueNotice] {
    var found: [DueNotice] = []
    for platform in senders.platforms {
      let inHand = state.withLock { state in state.inHand.count { $0.value == platform } }
      let open = senders.room(platform, most: Self.mostInHand)
      if open == 0 { reach.forget(platform) }
      let room = open - inHand
      guard room > 0 else { continue }
      let most = room + inHand
      let (times, now) = (times, scheduler.now)
      let end = times.asked.advanced(by: DueLoop.lookAhead)
      let lastNews = times.later.advanced(by: DueLoop.lookAhead)
      // If the clocks differ, the end of a read does not apply to times by the other clock.
      let isOneClock = times.later < times.earlier.advanced(by: .seconds(1))
      let start = isOneClock ? reach.start(platform, until: end, at: now) : nil
      do throws(StoreError) {
        let firstNews = times.earlier.advanced(by: .zero - CallbackNotices.newsLife)
        let due = try await book.store.dueNotices(
          on: platform.rawValue, questions: (start ?? Instant(seconds: 0))...end,
          news: max(start ?? firstNews, firstNews)...lastNews, most: most)
        let fresh = state.withLock { state in
          if due.count == most { state.hasMore.insert(platform) } else { state.hasMore.remove(platform) }
          return due.filter { state.inHand[$0.record.id] == nil }.prefix(room)
        }
        found += fresh
        if let end = due.count == most ? fresh.last?.due : end {
          reach.note(platform, from: start, to: end, at: now)
        }
      } catch {
        // The store's health shows and logs the failure. The next read tries again.
        continue
      }
    }
    return found.earliest(found.count)
  }

  private func begin(_ notice: DueNotice) -> Bool {
    guard let platform = PushPlatform(rawValue: notice.platform) else { return false }
    return loop.unlessStopped {
      state.withLock { state in
        guard state.inHand[notice.record.id] == nil else { return false }
        state.inHand[notice.record.id] = platform
        return true
      }
    }
  }

  private func end(_ notice: DueNotice) {
    let wakes = state.withLock { state in
      guard let platform = state.inHand.removeValue(forKey: notice.record.id) else { return false }
      // Do not wake the loop as soon as one ends, because each read also returns notifications that are being
      // sent.
      guard state.inHand.count(where: { $0.value == platform }) <= Self.mostInHand / 2 else { return false }
      return state.hasMore.remove(platform) != nil
    }
    if wakes { loop.wake() }
  }

  // MARK: One notice

  private func handle(_ notice: DueNotice, _ setting: Setting) async {
    // If the store fails, the notification stays due, or is due again when its lease ends.
    do throws(StoreError) { try await send(notice, setting) } catch {}
    end(notice)
  }

  private func send(_ notice: DueNotice, _ setting: Setting) async throws(StoreError) {
    let left = left(of: notice)
    var posts = NoticePosts(count: notice.tries)
    guard left > .zero, posts.hasMore, let token = self.token(of: notice) else {
      return try await settle(notice, .dropped)
    }
    let id = NoticeID.make(book.keys, for: notice)
    let lateness = .zero - wait(for: notice)
    let now = notice.due.advanced(by: lateness)
    guard
      try await book.store.takeNotice(
        notice, id: id.digest, until: now.advanced(by: Self.lease), at: Instant(book.clock.unixTime))
    else { return }
    metrics.noticeLateness.observe(nanoseconds: (.zero - wait(for: notice)).nanosecondsClamped)
    let ends = Instant(book.clock.unixTime).advanced(by: left)
    let attempt = await setting.senders.attempt(
      Notice(
        id: id, action: Notice.Action(notice.action), text: setting.texts[notice.action],
        ends: UnixTime(seconds: ends.seconds, nanoseconds: ends.nanoseconds)), to: token, &posts)
    switch attempt {
    case .taken:
      try await settle(notice, .taken)
      if let device = notice.device { await claims.used(device) }
    case .refused: try await settle(notice, .dropped)
    // The notification goes to the device that is registered now, or to the next one that is.
    case .deviceGone(let since):
      guard let device = notice.device else { return try await settle(notice, .dropped) }
      await claims.drop(device, goneSince: since)
      try await repeats(notice, after: .zero, posts)
    // The notification waits until the sender accepts notifications again, perhaps after a reload.
    case .closed, .again(_, _, rests: true): try await repeats(notice, after: .zero, posts)
    case .deviceRests(let wait): try await repeats(notice, after: wait, posts)
    case .again(let wait, _, _):
      // Count an attempt without a POST, too. Otherwise a notification would be tried for as long as it is
      // useful.
      if posts.count == notice.tries { posts.begin() }
      try await repeats(
        notice, after: wait ?? Self.pauses[min(notice.tries, Self.pauses.count - 1)], posts)
    }
  }

  /// The token of the device for a notification: the installation's device, or the one that the callback's
  /// request named.
  private func token(of notice: DueNotice) -> DeviceAddress? {
    guard let device = notice.device else {
      return notice.record.notices?.device?.opened(for: notice.record.id, book.keys)
    }
    return device.pushToken
  }

  /// Schedules another attempt after a pause, or drops the notification if it is no longer useful then or no
  /// POST is left.
  private func repeats(
    _ notice: DueNotice, after pause: Duration, _ posts: NoticePosts
  ) async throws(StoreError) {
    guard posts.hasMore, pause < left(of: notice) else { return try await settle(notice, .dropped) }
    try await settle(
      notice, .again(at: notice.due.advanced(by: pause - wait(for: notice)), tries: posts.count))
  }

  private func settle(_ notice: DueNotice, _ outcome: NoticeOutcome) async throws(StoreError) {
    let word =
      switch outcome {
      case .taken: "taken"
      case .again: "again"
      case .dropped: "dropped"
      }
    metrics.callbackNotices.count(notice.action.asks ? "confirm" : notice.action.rawValue, word)
    try await book.store.settleNotice(notice, outcome)
  }
}

extension Notice.Action {
  fileprivate init(_ action: NoticeAction) {
    self =
      switch action {
      case .confirm: .confirm
      case .confirmWithCode: .confirmWithCode
      case .changed: .changed
      case .expired: .expired
      case .calling: .calling
      }
  }
}

extension Configuration.Notices.Texts {
  fileprivate subscript(_ action: NoticeAction) -> String {
    switch action {
    case .confirm, .confirmWithCode: confirm
    case .changed: changed
    case .expired: expired
    case .calling: calling(from: nil)
    }
  }
}
