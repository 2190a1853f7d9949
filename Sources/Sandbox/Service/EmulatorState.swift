// The state of a running emulator that changes with each request.

import HTTP

/// All that changes while the emulator runs. It lives inside one `Mutex` and nothing in here waits.
struct EmulatorState: Sendable {
  /// The faults to come.
  var faults = FaultQueue()
  /// The requests so far.
  var journal = Journal()
  /// Which assertions were used.
  var replays = ReplayGuard()
  /// The service account that may send notices; nil until one was made.
  var serviceAccount: FCMAccount?
  /// The users that Sendbird knows, by the octets of their ids.
  var users: [[UInt8]: SendbirdUser] = [:]
  var desk = DeskService.State()
  var live = LiveService.State()
  /// The registered triggers.
  var triggers = TriggerService.State()
  /// The calls that were made, for reports.
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
