/// Decides which transfers may run: so many to a host, so many of them to one path, first come first served
/// within a path, and the paths of a host in turn. Hosts do not touch one another.
struct FairQueue<ID: Hashable> {
  /// Where a transfer goes.
  struct Place: Hashable {
    let origin: String
    let path: String
  }

  /// What became of a newcomer.
  enum Admission: Equatable { case runs, waits, refused }

  fileprivate struct Lane {
    var running = 0
    var waiting: [ID] = []
  }

  fileprivate struct Host {
    var running = 0
    var waiting = 0
    var lanes: [String: Lane] = [:]
    /// The paths with somebody waiting, the one whose turn it is first.
    var turns: [String] = []
  }

  let perHost: Int
  let perPath: Int
  let waitingPerHost: Int
  private var hosts: [String: Host] = [:]

  init(perHost: Int, perPath: Int, waitingPerHost: Int) {
    self.perHost = perHost
    self.perPath = perPath
    self.waitingPerHost = waitingPerHost
  }

  /// Nothing runs and nothing waits.
  var isEmpty: Bool { hosts.isEmpty }

  /// Lets a transfer run, or puts it at its path's end, or refuses it when too many wait.
  mutating func enter(_ id: ID, at place: Place) -> Admission {
    var host = hosts[place.origin] ?? Host()
    defer { hosts[place.origin] = host.isIdle ? nil : host }
    var lane = host.lanes[place.path] ?? Lane()
    defer { host.lanes[place.path] = lane.isIdle ? nil : lane }

    if host.running < perHost, lane.running < perPath {
      host.running += 1
      lane.running += 1
      return .runs
    }
    guard host.waiting < waitingPerHost else { return .refused }
    if lane.waiting.isEmpty { host.turns.append(place.path) }
    lane.waiting.append(id)
    host.waiting += 1
    return .waits
  }

  /// Gives back the slot of a transfer that ran; returns the one that gets it.
  mutating func leave(_ place: Place) -> ID? {
    guard var host = hosts[place.origin], var lane = host.lanes[place.path] else { return nil }
    lane.running -= 1
    host.running -= 1
    host.lanes[place.path] = lane.isIdle ? nil : lane
    defer { hosts[place.origin] = host.isIdle ? nil : host }
    return host.admitNext(perPath: perPath)
  }

  /// Takes out a transfer that still waits.
  mutating func abandon(_ id: ID, at place: Place) {
    guard var host = hosts[place.origin], var lane = host.lanes[place.path],
      let index = lane.waiting.firstIndex(of: id)
    else { return }
    lane.waiting.remove(at: index)
    host.waiting -= 1
    if lane.waiting.isEmpty { host.turns.removeAll { $0 == place.path } }
    host.lanes[place.path] = lane.isIdle ? nil : lane
    hosts[place.origin] = host.isIdle ? nil : host
  }
}

extension FairQueue.Lane {
  fileprivate var isIdle: Bool { running == 0 && waiting.isEmpty }
}

extension FairQueue.Host {
  fileprivate var isIdle: Bool { lanes.isEmpty }

  /// The first waiting transfer of the next path in turn that has room.
  fileprivate mutating func admitNext(perPath: Int) -> ID? {
    guard let index = turns.firstIndex(where: { lanes[$0].map { $0.running < perPath } ?? false }) else {
      return nil
    }
    let path = turns.remove(at: index)
    guard var lane = lanes[path] else { return nil }
    let id = lane.waiting.removeFirst()
    lane.running += 1
    if !lane.waiting.isEmpty { turns.append(path) }
    lanes[path] = lane
    running += 1
    waiting -= 1
    return id
  }
}
