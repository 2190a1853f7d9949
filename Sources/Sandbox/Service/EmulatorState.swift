// The state of a running emulator that changes with each request.

import HTTP

/// All that changes while the emulator runs. It lives inside one `Mutex` and nothing in here waits.
struct EmulatorState: Sendable {
  /// What it has been asked to do wrong.
  var faults = FaultQueue()
  /// What it saw.
  var journal = Journal()
  /// Which assertions were used.
  var replays = ReplayGuard()
  /// Where it is reached, once that is known: `http://127.0.0.1:PORT`, without a slash at the end.
  var baseURL: String?
  /// The ids of the client's keys, in the order of the configuration.
  var keyIDs: [String] = []
  /// Those of them that are not accepted at the moment.
  var retiredKeys: Set<String> = []
}
