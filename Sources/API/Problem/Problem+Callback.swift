// The problems of callbacks that the API documentation shows too, and that the sandbox's test numbers get.

import Gate

extension Problem {
  /// The problem if the same owner has already requested a callback to this number.
  /// - Parameter first: The id of that callback.
  package static func duplicate(of first: String) -> Problem {
    var problem = Problem(
      .duplicate,
      "A call to this number was already requested, so no second call was made. The first one has the id \(first)."
    )
    problem.id = first
    return problem
  }

  /// The problem if the first request with the key is still running.
  package static var inProgress: Problem {
    Problem(
      .inProgress, "The first request with this key is still running.", tryAgainAfter: 1,
      "with the same key")
  }

  /// The problem if the key belongs to another request.
  package static var idempotencyMismatch: Problem {
    Problem(
      .idempotencyMismatch,
      "This Idempotency-Key was used with a different body. Use a new key.")
  }

  /// The problem during a pause after Talkdesk's 429.
  /// - Parameter seconds: The length of the pause.
  package static func upstreamRateLimited(_ seconds: Int) -> Problem {
    Problem(.upstreamRateLimited, "Talkdesk is limiting callbacks.", tryAgainAfter: seconds)
  }

  /// The problem if Talkdesk did not respond, so that the phone may ring.
  package static var outcomeUnknown: Problem {
    Problem(
      .outcomeUnknown,
      "Talkdesk did not respond, so the phone may still ring. A new request could cause a second call.")
  }

  /// The problem if a time is fully booked.
  /// - Parameter alternatives: The next times that can be booked.
  package static func slotFull(_ alternatives: [Offer]) -> Problem {
    var problem = Problem(
      .slotFull,
      alternatives.isEmpty
        ? "This time and all other times that can be booked are full."
        : "This time is full. The next free time is \(alternatives[0].time).")
    problem.alternatives = alternatives
    return problem
  }

  /// The problem if the callback is not `scheduled`.
  package static var tooLate: Problem {
    Problem(.tooLate, "This callback can no longer be moved or canceled. Its record has the current status.")
  }

  /// The problem if the attestation is invalid.
  package static var attestationFailed: Problem {
    Problem(.attestationFailed, "This request does not come from the genuine app.")
  }
}
