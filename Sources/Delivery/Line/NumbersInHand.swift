// Makes a second tap on a call button wait for the first, so that it neither overtakes nor spends an allowance.

import Gate
package import Platform
package import Store
import Synchronization

/// Lets one callback of a caller to a number go as far as its record at a time. Others to that number wait until it has
/// one, and are duplicates then, or until it is given up, and the next of them goes on as if it had been alone.
///
/// The store's word is the one that counts, for all instances; this only keeps a duplicate from being told that an
/// allowance is used up which the first one has taken, and from taking another.
package final class NumbersInHand: Sendable {
  /// A number and the caller that requested it.
  package struct Name: Hashable, Sendable {
    let callerID: String
    let number: E164

    init(callerID: String, number: E164) {
      self.callerID = callerID
      self.number = number
    }

    package init(_ intent: CallbackIntent) { self.init(callerID: intent.callerID, number: intent.contact) }
  }

  /// What waiting has come to.
  package enum Turn: Hashable, Sendable {
    /// Nobody else is about to begin; to be given back by `leave`.
    case free
    /// This callback stands there now.
    case taken(CallbackID)
    /// The deadline came first.
    case late
    /// Too many wait already, at this number and others.
    case full
  }

  private struct Waiter {
    let id: CallbackID
    let timer: Task<Void, Never>
    let continuation: CheckedContinuation<Turn, Never>

    func answer(_ turn: Turn) {
      timer.cancel()
      continuation.resume(returning: turn)
    }
  }

  private struct Line {
    var first: CallbackID
    var waiters: [Waiter] = []
  }

  private struct State {
    var lines: [Name: Line] = [:]
    var waiting = 0
  }

  /// How many may wait in all. Taps on a button come in twos and threes: more is somebody's loop.
  static let mostWaiting = 1024

  private let state = Mutex(State())
  private let time: any TimeSource

  init(time: any TimeSource) { self.time = time }

  /// How many are at a number or wait for it.
  func count(at name: Name) -> Int {
    state.withLock { $0.lines[name].map { 1 + $0.waiters.count } ?? 0 }
  }

  /// Waits for a callback's turn at its number.
  package func turn(of id: CallbackID, at name: Name, deadline: MonotonicTime) async -> Turn {
    await withCheckedContinuation { continuation in
      let atOnce: Turn? = state.withLock { state in
        guard state.lines[name] != nil else {
          state.lines[name] = Line(first: id)
          return .free
        }
        guard state.waiting < Self.mostWaiting else { return .full }
        state.waiting += 1
        state.lines[name]?.waiters.append(
          Waiter(id: id, timer: expiry(of: id, at: name, deadline), continuation: continuation))
        return nil
      }
      if let atOnce { continuation.resume(returning: atOnce) }
    }
  }

  /// A callback stands at the number of the one that has its turn: that one itself, or an earlier one.
  func stands(_ standing: CallbackID, at name: Name, for id: CallbackID) {
    let waiters: [Waiter] = state.withLock { state in
      guard state.lines[name]?.first == id, let line = state.lines.removeValue(forKey: name) else {
        return []
      }
      state.waiting -= line.waiters.count
      return line.waiters
    }
    for waiter in waiters { waiter.answer(.taken(standing)) }
  }

  /// The one that had its turn is over. Does nothing where a callback stands, since its turn has ended with that.
  package func leave(_ id: CallbackID, at name: Name) {
    let next: Waiter? = state.withLock { state in
      // Taken out, so that it is changed in its place.
      guard state.lines[name]?.first == id, var line = state.lines.removeValue(forKey: name),
        !line.waiters.isEmpty
      else { return nil }
      let next = line.waiters.removeFirst()
      line.first = next.id
      state.lines[name] = line
      state.waiting -= 1
      return next
    }
    next?.answer(.free)
  }

  private func expiry(of id: CallbackID, at name: Name, _ deadline: MonotonicTime) -> Task<Void, Never> {
    Task.detached { [weak self, time] in
      // Cancelled means answered.
      guard await time.hasSlept(until: deadline) else { return }
      self?.expire(id, at: name)
    }
  }

  private func expire(_ id: CallbackID, at name: Name) {
    let late: Waiter? = state.withLock { state in
      guard let place = state.lines[name]?.waiters.firstIndex(where: { $0.id == id }) else { return nil }
      state.waiting -= 1
      return state.lines[name]?.waiters.remove(at: place)
    }
    late?.continuation.resume(returning: .late)
  }
}
