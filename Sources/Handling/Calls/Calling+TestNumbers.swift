// Refuses callbacks to the sandbox's test numbers. Times in a refusal are relative to now, and a refusal as
// a duplicate names a saved record.

import API
import Callbacks
import Configuration
import Delivery
import Gate
import Platform
import Records
import Responses
import Serving
import Store

extension Handlers {
  /// The refusal of a callback to one of the sandbox's test numbers; nil for all other numbers, and outside
  /// the sandbox.
  func testRefusal(of requested: RequestedCallback, _ calling: Calling) async -> Problem? {
    guard calling.generation.configuration.purpose == .sandbox,
      var problem = TestNumbers.problem(requested.intent.contact)
    else { return nil }
    let now = Instant(clock.unixTime)
    switch problem.code {
    case .closed:
      let opening = opening(after: now.advanced(by: .seconds(3600)), calling.generation, requested.facts)
      problem.nextOpen = opening.rfc3339
      problem.detail = Problem.closing(nextOpen: problem.nextOpen)
      problem.retryAfter = (opening - now).wholeSecondsRoundedUp
      if calling.client.form != nil,
        let time = AppointmentTime(calling.at ?? now, calling.generation, requested.facts)
      {
        // If the store fails, the response has no alternatives.
        do throws(StoreError) { problem.alternatives = try await time.alternatives(store) } catch {}
      }
    case .slotFull:
      guard let time = AppointmentTime(calling.at ?? now, calling.generation, requested.facts) else { break }
      return await full(time, calling.context)
    case .duplicate:
      do throws(StoreError) {
        problem.id = try await firstCallback(requested.intent, at: now).description
      } catch {
        callbacks.log.storeFailed(error, doing: "begin", calling.context)
        return .noRecords
      }
    default: break
    }
    return problem
  }

  /// The first bookable time after a given time; the given time itself if there is none.
  private func opening(after time: Instant, _ generation: Generation, _ facts: Facts) -> Instant {
    let times = generation.bookableTimes(callerID: facts.callerID, appID: facts.appID, at: facts.instant)
    return times?.next(after: time, most: 1).first.map { Instant(seconds: $0.start) }
      ?? Instant(seconds: time.seconds)
  }

  /// The record that makes a callback a duplicate. If there is none, saves an accepted one without making a
  /// call.
  private func firstCallback(_ intent: CallbackIntent, at now: Instant) async throws(StoreError) -> CallbackID
  {
    var first = CallbackIntent(
      id: intent.id, callerID: intent.callerID, subject: intent.subject, appID: intent.appID,
      contact: intent.contact, key: nil, terms: intent.terms, deadline: intent.deadline)
    // Without its numbers, the record would look like one of an older release, which may belong to any call.
    first.talkdeskNumber = intent.talkdeskNumber
    if case .duplicate(let known) = try await callbacks.store.begin(first, at: now) { return known }
    try await store.settle(
      first.id, CallbackSettlement(.accepted, upstreamStatus: 201, keepsKey: false, at: now))
    return first.id
  }
}
