// Helpers for the tests of callback requests: app settings, bodies and refusals.

import Gate
import JSON

@testable import API
@testable import Callbacks
@testable import Configuration

/// The account's number.
let accountNumber = "+18500000000"
let customerNumber = "+14155550100"

extension CallbackTerms {
  /// Settings with two account numbers and no schema.
  static func plain() throws -> CallbackTerms {
    CallbackTerms(talkdeskNumbers: [try E164(accountNumber), try E164("+18500000001")])
  }

  /// Settings of an app whose callbacks carry verification codes.
  static func verified(_ schema: Configuration.ContextSchema? = nil) throws -> CallbackTerms {
    CallbackTerms(talkdeskNumbers: [try E164(accountNumber)], schema: schema, addsVerificationCode: true)
  }

  /// Settings with a schema: a required issue, an optional phone and URL, and a field that the server adds.
  static func strict(others: Bool = false) throws -> CallbackTerms {
    let fields: [Configuration.ContextSchema.Field] = [
      .made("issue", maximumLength: 5, isRequired: true), .made("mobile", .phone),
      .made("page", .url, maximumLength: 1000),
    ]
    return CallbackTerms(
      talkdeskNumbers: [try E164(accountNumber)],
      schema: .init(
        fields: fields, additions: [.init(name: "channel", value: "ios")], allowsOthers: others))
  }
}

extension Configuration.ContextSchema.Field {
  /// A field in which everything but the name is optional.
  static func made(
    _ name: String, _ type: Configuration.ContextSchema.DataType = .text, displayName: String? = nil,
    tooltip: String? = nil, maximumLength: Int? = nil, isRequired: Bool = false
  ) -> Self {
    Self(
      name: name, displayName: displayName, tooltip: tooltip, dataType: type, maximumLength: maximumLength,
      isRequired: isRequired)
  }
}

extension CallbackRequest {
  init(_ text: String, terms: CallbackTerms) throws {
    try self.init(parsing: Array(text.utf8), terms: terms)
  }
}

/// The problem with which a body is refused; nil if it is accepted.
func refusal(of content: [UInt8], terms: CallbackTerms) -> Problem? {
  do throws(Problem) {
    _ = try CallbackRequest(parsing: content, terms: terms)
    return nil
  } catch {
    return error
  }
}

func refusal(of text: String, terms: CallbackTerms) -> Problem? {
  refusal(of: Array(text.utf8), terms: terms)
}

/// A body with this context.
func body(context: String) -> String {
  #"{"contact_phone_number":"\#(customerNumber)","context":\#(context)}"#
}
/// A body with this one field in Talkdesk's form.
func body(field: String) -> String { body(context: #"{"fields":[\#(field)]}"#) }
