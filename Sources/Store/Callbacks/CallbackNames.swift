// The keyed hashes of a callback's key and phone number in a store.

import Gate

/// The hashes that a store keeps in place of personal data.
package struct CallbackNames: Hashable, Sendable {
  /// Of caller and `Idempotency-Key`.
  package let key: StoreID?
  /// Of these and the request.
  package let fingerprint: StoreID?
  /// Of owner and number; nil where repetitions are no duplicates.
  package let place: StoreID?
}

extension StoreIDMaker {
  /// The names of an intent.
  package func names(of intent: CallbackIntent) -> CallbackNames {
    let caller = Array(intent.callerID.utf8)
    let key = intent.key.map { Array($0.text.utf8) }
    return CallbackNames(
      key: key.map { id(of: .callbackKey, [caller, $0]) },
      fingerprint: key.map { id(of: .fingerprint, [caller, $0, intent.key?.fingerprint ?? []]) },
      place: intent.terms.dedupeWindow > .zero
        ? id(of: .dedupePlace, [Array(intent.owner.utf8), Array(intent.contact.text.utf8)]) : nil)
  }

  private enum Purpose: UInt8 {
    case callbackKey = 1
    case fingerprint = 2
    case dedupePlace = 3
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
