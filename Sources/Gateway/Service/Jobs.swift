// The work of a server beside requests.

import Appointments
import Callers
import Configuration
import Delivery
import Installations
import Outcomes
import Platform
import PushDelivery
import Records
import Serving
import Store
import Talkdesk
import Tokens

/// The work that a server does beside requests, from its start to its drain.
struct Jobs: Sendable {
  /// Keeps the store in order and the keys of callers' issuers fresh.
  private let upkeep: Task<Void, Never>
  /// Keeps the last uses of installations, and counts them. Counts the decisions of each minute. Notes what needs attention.
  private let counting: Task<Void, Never>
  /// Carries appointments out when they are due.
  private let appointments: Task<Void, Never>
  /// Sends notices of callbacks. It ends by itself after its keeper was stopped: notices on their way have a few seconds.
  let notices: Task<Void, Never>
  /// Ends claims whose time is over.
  private let lapses: Task<Void, Never>
  /// Matches events of calls.
  private let outcomes: Task<Void, Never>
  /// Learns how many agents are available.
  private let live: Task<Void, Never>
  /// Asks for the report of calls.
  private let report: Task<Void, Never>

  /// Writes an anchor of the audit chain each minute.
  private let anchors: Task<Void, Never>

  /// Begins all of it.
  init(
    _ work: Upkeep, _ runtime: Runtime, _ generations: Generations, _ activity: RecentActivity,
    _ attention: AttentionList, _ keeper: AppointmentKeeper?, _ noticeKeeper: NoticeKeeper?,
    _ outcomes: OutcomeDesk, _ anchors: AnchorKeeper?, report: NightlyReport,
    issuer: @escaping @Sendable () -> any TokenIssuer,
    clock: any TimeSource
  ) {
    upkeep = Task { [keys = runtime.keys] in
      async let renewal: Void = keys.keepFresh(generations, clock: clock)
      await work.run()
      await renewal
    }
    counting = Task { [installations = runtime.installations] in
      async let activity: Void = activity.keepRead()
      async let attention: Void = attention.keepRead()
      await installations?.keepCounted()
      await activity
      await attention
    }
    let origins = runtime.appointments.keys.map {
      OriginKeeper(store: runtime.callbacks.store, keys: $0, clock: clock)
    }
    appointments = Task {
      async let noting: Void? = origins?.run()
      async let counting: Void? = keeper?.keepCounted()
      await keeper?.run()
      await counting
      await noting
    }
    notices = Task { await noticeKeeper?.run() }
    self.outcomes = Task { await outcomes.run() }
    self.anchors = Task { await anchors?.run(clock) }
    self.report = Task { await report.run() }
    live = Task { [agents = runtime.liveAgents, generations] in
      await agents.run(
        source: {
          let configuration = generations.current.configuration
          guard let live = configuration.live, let upstream = configuration.talkdesk.upstream else {
            return nil
          }
          return LiveAgents.Source(live, apiURL: upstream.apiURL)
        }, issuer: issuer)
    }
    lapses = Task { [book = runtime.push?.book, health = runtime.storeHealth] in
      await book?.keepLapsing(while: { health.isClockRight })
    }
  }

  /// Ends all of it but notices, and waits until the last uses of installations are saved.
  func end() async {
    for job in [upkeep, counting, appointments, lapses, outcomes, anchors, live, report] { job.cancel() }
    await counting.value
  }
}
