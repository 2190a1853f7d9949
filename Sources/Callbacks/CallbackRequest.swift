// A callback request after validation. The rules and Talkdesk's request body both use this value.

package import Gate
import JOSE
import JSON

/// A requested callback, checked in every part. The rules' facts and Talkdesk's request are both made from
/// this value, so they cannot differ.
package struct CallbackRequest: Sendable, Equatable {
  /// The number to call.
  package let contactNumber: E164
  /// The account's number that the call comes from.
  package let talkdeskNumber: E164
  /// The requested time of the call, to the second; nil for now.
  package let at: Instant?
  /// Whether the request itself named the Talkdesk number.
  let namesTalkdeskNumber: Bool
  /// The context's fields as the client sent them, in order.
  let fields: [ContextField]
  /// A proof that the number is the caller's, and the customer's consent. Neither is part of the fingerprint,
  /// so an `Idempotency-Key` does not cover them.
  package let numberProof: String?
  package let consent: GivenConsent?
  /// The fields that the server adds after the client's fields.
  let additions: [ContextField]

  /// The body for Talkdesk: both numbers, and five properties for each field. Without fields there is no
  /// context, because Talkdesk ignores an empty one.
  package var content: [UInt8] { content(adding: []) }

  /// The body for a callback of an installation whose callbacks carry a verification code.
  package func content(verificationCode code: String, installation id: String) -> [UInt8] {
    content(adding: ContextField.verification(code: code, installation: id))
  }

  private func content(adding more: [ContextField]) -> [UInt8] {
    Self.body(contact: contactNumber, talkdesk: talkdeskNumber, fields: fields + additions + more)
  }

  /// SHA-256 of the client's request, in lower-case hex, to compare requests with the same `Idempotency-Key`.
  /// Spacing, order of members, escapes and the short form make no difference. The hash leaves out the
  /// number, fields and labels that the server adds, because these may change between two attempts. It
  /// includes the type of each field, given or default.
  package var fingerprint: String {
    let asked = Self.body(
      contact: contactNumber, talkdesk: namesTalkdeskNumber ? talkdeskNumber : nil, fields: fields, at: at,
      isAsAsked: true)
    return Hex.encode(SHA256.digest(asked))
  }

  /// The names and values of the client's fields, in their order.
  package var context: [(name: String, value: String)] { fields.map { ($0.name, $0.value) } }

  /// The contact's number as responses and logs may show it: `+*********00`.
  package var maskedContact: String { contactNumber.masked }

  private static func body(
    contact: E164, talkdesk: E164?, fields: [ContextField], at: Instant? = nil, isAsAsked: Bool = false
  ) -> [UInt8] {
    var octets: [UInt8] = []
    octets.reserveCapacity(fields.reduce(120) { $0 + $1.leastOctets })
    octets.append(UInt8(ascii: "{"))
    if let talkdesk {
      octets += #""talkdesk_phone_number":"#.utf8
      JSONText.append(talkdesk.text, to: &octets)
      octets.append(UInt8(ascii: ","))
    }
    octets += #""contact_phone_number":"#.utf8
    JSONText.append(contact.text, to: &octets)
    if !fields.isEmpty {
      octets += #","context":{"fields":["#.utf8
      for (index, field) in fields.enumerated() {
        if index > 0 { octets.append(UInt8(ascii: ",")) }
        field.append(to: &octets, isAsAsked: isAsAsked)
      }
      octets += "]}".utf8
    }
    if let at { octets += ",\"at\":\(at.seconds)".utf8 }
    octets.append(UInt8(ascii: "}"))
    return octets
  }
}
