// One field of the context that Talkdesk shows to the agent who takes the call.

import Configuration
import JSON

/// One field of a callback's context, with all five properties Talkdesk knows.
package struct ContextField: Sendable {
  typealias DataType = Configuration.ContextSchema.DataType

  /// The identifier, unique within the context.
  var name: String
  /// The label the agent sees.
  var displayName: String
  /// The tooltip for the agent.
  var tooltipText: String
  /// The type of the value.
  var dataType: DataType
  /// The value.
  var value: String

  /// A field as it is where only its name and value are given.
  init(
    name: String, displayName: String? = nil, tooltipText: String? = nil, dataType: DataType = .text,
    value: String
  ) {
    self.name = name
    self.displayName = displayName ?? name
    self.tooltipText = tooltipText ?? name
    self.dataType = dataType
    self.value = value
  }

  /// The names of the fields of a verification code.
  static let verificationNames = Configuration.App.verificationFields

  /// The fields by which the agent verifies the customer of an installation.
  static func verification(code: String, installation id: String) -> [ContextField] {
    [
      ContextField(
        name: verificationNames[0], displayName: "Verification code",
        tooltipText: "The customer's app shows this code", value: code),
      ContextField(
        name: verificationNames[1], displayName: "Installation",
        tooltipText: "The client_id of the customer's app", value: id),
    ]
  }

  /// The field as Talkdesk takes it.
  var json: JSONValue {
    [
      "name": .string(name), "display_name": .string(displayName), "tooltip_text": .string(tooltipText),
      "data_type": .string(dataType.rawValue), "value": .string(value),
    ]
  }
}

extension ContextField: Equatable {
  /// By bytes: texts that are only canonically equivalent differ, as they do for Talkdesk.
  package static func == (a: ContextField, b: ContextField) -> Bool { a.json == b.json }
}
