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
  /// What Sendbird Desk knows.
  var desk = DeskService.State()
  /// What the Live API knows.
  var live = LiveService.State()
  /// The registered triggers.
  var triggers = TriggerService.State()
  /// The calls that were made, for reports.
  var reports = ReportService.State()
  /// Where it is reached, once that is known: `http://127.0.0.1:PORT`, without a slash at the end.
  var baseURL: String?
  /// The ids of the client's keys, in the order of the configuration.
  var keyIDs: [String] = []
  /// Those of them that are not accepted at the moment.
  var retiredKeys: Set<String> = []
}

/// A user as the emulated Sendbird keeps one.
struct SendbirdUser: Sendable {
  var nickname: String
  var profileURL: String
}
