// The keyed hashes that a store saves in place of a callback's keys and phone numbers.

package import Gate

/// The hashes that a store saves in place of personal data.
package struct CallbackNames: Hashable, Sendable {
  /// The hash of caller and key (`CallbackIntent.Key`); nil if the request has no key.
  package let key: StoreID?
  /// The hash of caller, key and request; nil if the request has no key. For an AI agent's key, the hash does
  /// not cover the request.
  package let fingerprint: StoreID?
  /// The hash that finds the dedupe entry; nil if repeated requests are not duplicates. It covers owner and
  /// number for a call, also the time for an appointment, and owner and content for a ticket.
  package let place: StoreID?
  /// The dedupe entry that the first release made for a user's call. Nil if that is the same entry, for a
  /// ticket or an appointment, and if repeated requests are not duplicates.
  package let former: FormerPlace?
  /// The hash of both numbers of a call; nil for a ticket, and for an appointment before its call.
  package let numbers: StoreID?
  /// How long a repeated request of an AI agent gets the same callback; nil for a client's own key.
  package let repeats: Duration?

  package init(
    key: StoreID?, fingerprint: StoreID?, place: StoreID?, former: FormerPlace? = nil,
    numbers: StoreID? = nil,
    repeats: Duration? = nil
  ) {
    self.key = key
    self.fingerprint = fingerprint
    self.place = place
    self.former = former
    self.numbers = numbers
    self.repeats = repeats
  }
}

/// A dedupe entry by caller and number. The first release made one entry for all users of a caller together,
/// so the entry counts only for the user in its record. This release makes such entries only for callers
/// without users, and reads the older ones until they expire.
package struct FormerPlace: Hashable, Sendable {
  package let name: StoreID
  package let subject: String?
}

/// The hashes of a booking.
package struct BookingNames: Hashable, Sendable {
  package let callback: CallbackNames
  /// The hash of owner and number.
  package let number: StoreID
}

extension StoreIDMaker {
  /// The hashes of an intent.
  package func names(of intent: CallbackIntent) -> CallbackNames {
    let caller = Array(intent.callerID.utf8)
    let key = intent.key.map { Array($0.text.utf8) }
    let isDeduped = intent.terms.dedupeWindow > .zero
    var former: FormerPlace?
    if isDeduped, !intent.isTicket, !intent.owner.utf8.elementsEqual(caller) {
      former = FormerPlace(name: place(of: intent.matter, caller), subject: intent.subject)
    }
    return CallbackNames(
      key: key.map { id(of: .callbackKey, [caller, $0]) },
      fingerprint: key.map { id(of: .fingerprint, [caller, $0, intent.key?.fingerprint ?? []]) },
      place: isDeduped ? place(of: intent.matter, Array(intent.owner.utf8)) : nil, former: former,
      numbers: intent.talkdeskNumber.map { numbers(contact: intent.contact, talkdesk: $0) },
      repeats: intent.conversation?.repeats)
  }

  private func place(of matter: CallbackIntent.Matter, _ owner: [UInt8]) -> StoreID {
    switch matter {
    case .call(let number): id(of: .dedupePlace, [owner, Array(number.text.utf8)])
    case .ticket(let digest): id(of: .ticket, [owner, digest])
    }
  }

  /// The hashes of a booking. Only another booking for the same time is a duplicate. An immediate callback to
  /// the same number is not.
  package func names(of booking: Booking) -> BookingNames {
    let immediate = names(of: booking.intent)
    let owner = Array(booking.intent.owner.utf8)
    let number = Array(booking.intent.contact.text.utf8)
    let place =
      immediate.place == nil ? nil : id(of: .bookedTime, [owner, number, bytes(booking.at.seconds)])
    return BookingNames(
      callback: CallbackNames(
        key: immediate.key, fingerprint: immediate.fingerprint, place: place, repeats: immediate.repeats),
      number: id(of: .bookedNumber, [owner, number]))
  }

  /// The hash of a slot. A store with several writers locks the slot by it.
  package func name(ofSlot slot: Int64) -> StoreID { id(of: .slot, [bytes(slot)]) }

  private func bytes(_ number: Int64) -> [UInt8] {
    stride(from: 0, to: 64, by: 8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// The hash of the two numbers of a call.
  package func numbers(contact: E164, talkdesk: E164) -> StoreID {
    id(of: .callNumbers, [Array(contact.text.utf8), Array(talkdesk.text.utf8)])
  }

  /// The hash of Talkdesk's id for a call.
  package func name(ofCall call: String) -> StoreID { id(of: .call, [Array(call.utf8)]) }

  private enum Purpose: UInt8 {
    case callbackKey = 1
    case fingerprint = 2
    case dedupePlace = 3
    case bookedTime = 4
    case bookedNumber = 5
    case slot = 6
    case ticket = 7
    case callNumbers = 8
    case call = 9
  }

  /// A hash of several parts, each with its length first, so that no two lists make the same bytes.
  private func id(of purpose: Purpose, _ parts: [[UInt8]]) -> StoreID {
    var bytes: [UInt8] = [purpose.rawValue]
    for part in parts {
      for shift in stride(from: 0, to: 32, by: 8) {
        bytes.append(UInt8(truncatingIfNeeded: part.count >> shift))
      }
      bytes += part
    }
    return id(of: bytes)
  }
}
