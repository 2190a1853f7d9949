// The kill switch: what operators have stopped, effective with the next request.

internal import Gate
internal import Synchronization

/// What operators have stopped.
///
/// One board for the process, outside of the configuration: a reload resumes nothing.
final class StopBoard: Sendable {
  /// Whom a stop concerns.
  enum Scope: Hashable, Sendable {
    case all
    case app(String)
    case caller(String)

    /// The word for it in a request.
    var word: String {
      switch self {
      case .all: "all"
      case .app: "app"
      case .caller: "caller"
      }
    }

    /// The app or caller; nil for everyone.
    var id: String? {
      switch self {
      case .all: nil
      case .app(let id), .caller(let id): id
      }
    }
  }

  /// What is stopped for whom.
  struct Stop: Hashable, Sendable {
    var scope: Scope
    /// Never empty.
    var actions: Set<Action>
  }

  /// How many scopes can be stopped: more than anybody names by hand.
  static let capacity = 10_000

  private let stopped = Mutex<[Scope: Set<Action>]>([:])
  /// Whether nothing is stopped, so that a request costs no lock as long as that is so.
  private let isClear = Atomic<Bool>(true)

  /// Makes a board on which nothing is stopped.
  init() {}

  /// Stops actions for a scope. False where the board is full.
  func stop(_ scope: Scope, _ actions: Set<Action>) -> Bool {
    stopped.withLock { stopped in
      guard stopped[scope] != nil || stopped.count < Self.capacity else { return false }
      stopped[scope, default: []].formUnion(actions)
      isClear.store(stopped.isEmpty, ordering: .releasing)
      return true
    }
  }

  /// Takes back a stop of exactly this scope: to resume everyone resumes nobody who was stopped by name.
  func resume(_ scope: Scope, _ actions: Set<Action>) {
    stopped.withLock { stopped in
      stopped[scope]?.subtract(actions)
      if stopped[scope]?.isEmpty == true { stopped[scope] = nil }
      isClear.store(stopped.isEmpty, ordering: .releasing)
    }
  }

  /// Whether a request is stopped.
  func stops(_ action: Action, caller: String, app: String?) -> Bool {
    guard !isClear.load(ordering: .acquiring) else { return false }
    return stopped.withLock { stopped in
      stopped[.all]?.contains(action) == true || stopped[.caller(caller)]?.contains(action) == true
        || app.map { stopped[.app($0)]?.contains(action) == true } == true
    }
  }

  /// Everything that is stopped, everyone first, then by name.
  var stops: [Stop] {
    stopped.withLock { stopped in
      stopped.map { Stop(scope: $0.key, actions: $0.value) }
        .sorted { ($0.scope.word, $0.scope.id ?? "") < ($1.scope.word, $1.scope.id ?? "") }
    }
  }
}
