// The problems of callbacks that the API documentation shows too, and that the sandbox's test numbers get.

import Gate

extension Problem {
  /// The same owner requested a callback to this number before.
  /// - Parameter first: The id of that callback.
  package static func duplicate(of first: String) -> Problem {
    var problem = Problem(
      .duplicate,
      "A callback to this number was requested a moment ago, so no second call was requested. See id for the first."
    )
    problem.id = first
    return problem
  }

  /// The first request with the key is still running.
  package static var inProgress: Problem {
    Problem(
      .inProgress, "Wait for the first response, or retry a little later with the same key.", retryAfter: 1)
  }

  /// The key belongs to another request.
  package static var idempotencyMismatch: Problem {
    Problem(
      .idempotencyMismatch,
      "The first request with this Idempotency-Key was a different one. Use a new key.")
  }

  /// Talkdesk has asked for a pause.
  /// - Parameter seconds: Its length.
  package static func upstreamRateLimited(_ seconds: Int) -> Problem {
    Problem(.upstreamRateLimited, "Talkdesk is limiting callbacks.", tryAgainAfter: seconds)
  }

  /// Talkdesk did not respond.
  package static var outcomeUnknown: Problem {
    Problem(
      .outcomeUnknown,
      "Talkdesk did not respond, and the phone may still ring. A new request could cause a second call.")
  }

  /// A time is fully booked.
  /// - Parameter alternatives: The next times that can be booked.
  package static func slotFull(_ alternatives: [Offer]) -> Problem {
    var problem = Problem(
      .slotFull,
      alternatives.isEmpty
        ? "All other times that can be booked now are full, too."
        : "Choose another time. See alternatives.")
    problem.alternatives = alternatives
    return problem
  }

  /// The callback is not `scheduled`.
  package static var tooLate: Problem {
    Problem(.tooLate, "This callback cannot be moved or cancelled now. Read its record.")
  }

  /// The attestation is invalid.
  package static var attestationFailed: Problem {
    Problem(.attestationFailed, "This request does not come from the genuine app.")
  }
}
