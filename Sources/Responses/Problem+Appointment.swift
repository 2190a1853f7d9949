// The problems that callers get for appointments that were not booked, moved or canceled.

package import API
package import Store

extension Problem {
  /// The problem if the owner already has an appointment for the number.
  package static func alreadyBooked(_ first: CallbackID) -> Problem {
    var problem = Problem(
      .duplicate,
      "You already have an appointment for this number. Move or cancel it: its id is \(first.description).")
    problem.id = first.description
    problem.isOfAppointment = true
    return problem
  }

  /// The problem if the callback is not `scheduled`.
  package static func tooLate(_ record: StoredCallback) -> Problem {
    var problem = Problem.tooLate
    problem.id = record.id.description
    return problem
  }

  /// The problem if the store did not confirm a booking.
  package static var mayBeBooked: Problem {
    Problem(
      .storeUnavailable,
      "The database did not confirm the booking, so it may be booked.", tryAgainAfter: 1,
      "with the same Idempotency-Key")
  }

  /// The problem if the store failed during a change of an appointment, which may have been made.
  package static func notChanged(_ error: StoreError) -> Problem {
    Problem(
      .storeUnavailable,
      error.isInDoubt
        ? "The database did not confirm the change, so it may have been made."
        : "The server could not save the change, so nothing was changed.", tryAgainAfter: 1)
  }

  /// The problem if the appointment's sealed content cannot be opened.
  package static var unreadable: Problem {
    Problem(.internal, "The server cannot read this appointment.")
  }
}
