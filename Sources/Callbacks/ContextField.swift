// One field of the context that Talkdesk shows to the agent who takes the call.

import Configuration
import JSON
import Texts

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
  var value: String
  /// The schema's label and tooltip, which the agent sees instead of the client's; nil without them.
  var settledDisplayName: String?
  var settledTooltip: String?

  /// Creates a field. A missing label or tooltip becomes the name.
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

  /// The fields that show the agent a callback's verification code and the ID of its installation.
  static func verification(code: String, installation id: String) -> [ContextField] {
    zip(Configuration.App.verificationFields, [code, id]).map { field, value in
      ContextField(
        name: field.name, displayName: field.displayName, tooltipText: field.tooltip, value: value)
    }
  }

  /// Appends the field in the form that Talkdesk accepts.
  ///
  /// - Parameter isAsAsked: Whether to use the client's label and tooltip even if the schema has its own.
  func append(to octets: inout [UInt8], isAsAsked: Bool) {
    octets += #"{"name":"#.utf8
    JSONText.append(name, to: &octets)
    octets += #","display_name":"#.utf8
    JSONText.append(isAsAsked ? displayName : settledDisplayName ?? displayName, to: &octets)
    octets += #","tooltip_text":"#.utf8
    JSONText.append(isAsAsked ? tooltipText : settledTooltip ?? tooltipText, to: &octets)
    octets += #","data_type":"#.utf8
    JSONText.append(dataType.rawValue, to: &octets)
    octets += #","value":"#.utf8
    JSONText.append(value, to: &octets)
    octets.append(UInt8(ascii: "}"))
  }

  /// Estimated size of the field's JSON, in octets, without escapes.
  var leastOctets: Int {
    80 + name.utf8.count + displayName.utf8.count + tooltipText.utf8.count + value.utf8.count
  }
}

extension ContextField: Equatable {
  /// Compares bytes: texts that are only canonically equivalent differ, as they do for Talkdesk.
  package static func == (a: ContextField, b: ContextField) -> Bool {
    a.dataType == b.dataType && a.name.hasSameBytes(as: b.name) && a.value.hasSameBytes(as: b.value)
      && a.displayName.hasSameBytes(as: b.displayName) && a.tooltipText.hasSameBytes(as: b.tooltipText)
      && a.settledDisplayName.map { ExactText($0) } == b.settledDisplayName.map { ExactText($0) }
      && a.settledTooltip.map { ExactText($0) } == b.settledTooltip.map { ExactText($0) }
  }
}
