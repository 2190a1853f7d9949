// The changing state of a running emulator: waiting faults, the journal, users, tickets, triggers and
// reports.

import HTTP

/// The changing state of a running emulator, inside one `Mutex`. No code waits while it has the lock.
struct EmulatorState: Sendable {
  /// The faults that wait for a request.
  var faults = FaultQueue()
  /// The last requests.
  var journal = Journal()
  /// The assertions that were used.
  var replays = ReplayGuard()
  /// The service account that may send push notifications; nil until `openProviders` makes one.
  var serviceAccount: FCMAccount?
  /// The users that Sendbird knows, by the octets of their ids.
  var users: [[UInt8]: SendbirdUser] = [:]
  var desk = DeskService.State()
  var live = LiveService.State()
  var triggers = TriggerService.State()
  /// The calls and jobs of the calls report.
  var reports = ReportService.State()
  /// The emulator's base URL, once known: `http://127.0.0.1:PORT`, without a slash at the end.
  var baseURL: String?
  /// The ids of the client's keys, in the order of the configuration.
  var keyIDs: [String] = []
  /// The ids in `keyIDs` that are currently refused.
  var retiredKeys: Set<String> = []
}

/// A user of the emulated Sendbird.
struct SendbirdUser: Sendable {
  var nickname: String
  var profileURL: String
}
