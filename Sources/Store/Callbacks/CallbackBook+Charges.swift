// Uses the allowances of a callback record, and gives them back, in the transaction that changes the record.

import Gate

extension CallbackIntent {
  /// The keys of the allowances that the record takes.
  var chargedKeys: [AllowanceKey] { charges?.charges.map(\.key) ?? [] }
}

extension CallbackBook {
  /// Begins a callback if nothing forbids it and no allowance is exhausted.
  ///
  /// - Parameters:
  ///   - states: The states of the intent's allowances, in the order of `CallbackIntent.chargedKeys`.
  ///   - now: The time of the request, which is saved in the record and shown in the response.
  ///   - turn: The time of the transaction, at which allowances are evaluated.
  /// - Returns: The result, and the changes of the allowances.
  mutating func begin(
    _ intent: CallbackIntent, _ names: CallbackNames, instance: Int64, from states: [AllowanceState?],
    at now: Instant, turn: Instant
  ) -> (CallbackBeginning, [AllowanceWrite]) {
    guard let charges = intent.charges else { return (begin(intent, names, instance: instance, at: now), []) }
    if let obstacle = obstacle(to: intent, names, at: now) {
      charges.takeNothing()
      return (obstacle, [])
    }
    let outcome = charges.take(from: states, at: turn)
    guard case .taken = outcome else { return (.exhausted, []) }
    return (begin(intent, names, instance: instance, at: now), charges.charges.writes(of: outcome))
  }

  /// Books an appointment if nothing forbids it and no allowance is exhausted, with the parameters and result
  /// of `begin`.
  mutating func book(
    _ booking: Booking, _ names: BookingNames, instance: Int64, from states: [AllowanceState?],
    at now: Instant, turn: Instant
  ) -> (BookingResult, [AllowanceWrite]) {
    let charges = booking.intent.charges
    if let obstacle = obstacle(to: booking, names, at: now) {
      charges?.takeNothing()
      return (obstacle, [])
    }
    let outcome = charges?.take(from: states, at: turn) ?? .taken([])
    guard case .taken(let receipts) = outcome else { return (.exhausted, []) }
    var booking = booking
    if let seal = booking.seal {
      guard let content = seal(receipts) else {
        charges?.takeNothing()
        return (.unsealed, [])
      }
      booking.content = content
    }
    return (
      book(booking, names, instance: instance, at: now), charges?.charges.writes(of: outcome) ?? []
    )
  }

  /// The changes that give a record's allowances back with a settlement; empty if the settlement does not
  /// change the record.
  func returns(
    of id: CallbackID, _ settlement: CallbackSettlement, to states: [AllowanceState?]
  ) -> [AllowanceWrite] {
    guard settles(id, settlement) else { return [] }
    return settlement.returned.map { AllowanceReceipt($0) }.returns(to: states, at: settlement.time)
  }
}
