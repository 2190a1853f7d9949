// Reads the `context` of a callback request in either of its two forms, and checks it against the app's
// schema.

import API
import Configuration
import JSON
import Texts

/// Reads `context` in Talkdesk's form, `{"fields": [ … ]}`, or in the short form, `{"issue": "…"}`, and
/// checks it against the general limits and the app's schema. A context with a member `fields` is in
/// Talkdesk's form.
struct ContextReader {
  private static let properties = ["name", "display_name", "tooltip_text", "data_type", "value"]

  private let terms: CallbackTerms
  private var schema: Configuration.ContextSchema? { terms.schema }
  /// Whether problems name a field of Talkdesk's form by its name and not by its index.
  private let namesFields: Bool
  var problems: FieldProblems
  private(set) var fields: [ContextField] = []
  private var names: Set<[UInt8]> = []

  init(_ terms: CallbackTerms, namesFields: Bool, problems: FieldProblems) {
    self.terms = terms
    self.namesFields = namesFields
    self.problems = problems
  }

  /// Reads the value of `context`.
  mutating func read(_ value: JSONValue) {
    guard let context = value.object else {
      return problems.add("context", "This is \(value.kindName); give an object, or leave it out.")
    }
    guard let listed = context["fields"] else { return readShort(context) }
    problems.refuseUnknown(in: context, known: ["fields"], prefix: "context.")
    guard let elements = listed.array else {
      return problems.add("context.fields", "This is \(listed.kindName); give an array of fields.")
    }
    checkRoom(elements.count, "context.fields")
    for (index, element) in elements.enumerated() { readField(element, "context.fields[\(index)]") }
  }

  /// Finishes reading: reports required fields that are missing.
  mutating func finish() {
    for field in schema?.fields ?? [] where field.isRequired && !names.contains(Array(field.name.utf8)) {
      problems.add("context.\(field.name)", "This field is required.")
    }
  }

  private mutating func readShort(_ context: JSONObject) {
    checkRoom(context.count, "context")
    for member in context.members {
      // Build the path only for a mistake, which is rare.
      var path: String { "context.\(FieldProblems.shown(member.name))" }
      let isNameSound = take(name: member.name, path)
      guard let value = member.value.string else {
        problems.add(path, "This is \(member.value.kindName); give a string.")
        continue
      }
      let type = settled(member.name)?.dataType ?? .text
      if check(value, of: member.name, as: type, path), isNameSound {
        append(ContextField(name: member.name, dataType: type, value: value))
      }
    }
  }

  private mutating func readField(_ element: JSONValue, _ path: String) {
    guard let object = element.object else {
      return problems.add(path, "This is \(element.kindName); give an object with name and value.")
    }
    problems.refuseUnknown(in: object, known: Self.properties, prefix: path + ".")
    for property in ["name", "value"] where object[property] == nil {
      problems.add("\(path).\(property)", "This is required; give a string.")
    }
    let name = problems.string("name", in: object, prefix: path + ".")
    let isNamed = namesFields
    // Build the path only for a mistake, which is rare.
    func place(_ property: String) -> String {
      guard isNamed, let name else { return "\(path).\(property)" }
      return "context.\(FieldProblems.shown(name))"
    }
    let isNameSound = name.map { take(name: $0, place("name")) } ?? false
    let known = name.flatMap { settled($0) }
    let display = label("display_name", in: object, path, isIgnored: known?.displayName != nil)
    let tooltip = label("tooltip_text", in: object, path, isIgnored: known?.tooltip != nil)
    let type = dataType(in: object, of: name, path)
    if let value = object["value"], value.string == nil {
      problems.add(place("value"), "This is \(value.kindName); give a string.")
    }
    guard let value = object["value"]?.string, let type,
      check(value, of: name ?? "", as: type, place("value")), let name, isNameSound
    else { return }
    append(
      ContextField(
        name: name, displayName: display, tooltipText: tooltip, dataType: type, value: value))
  }

  private mutating func append(_ field: ContextField) {
    var field = field
    let known = settled(field.name)
    field.settledDisplayName = known?.displayName
    field.settledTooltip = known?.tooltip
    fields.append(field)
  }

  /// - Parameter isIgnored: Whether the agent sees the schema's text instead.
  private mutating func label(
    _ property: String, in object: JSONObject, _ path: String, isIgnored: Bool
  ) -> String? {
    if isIgnored { return object[property]?.string }
    guard let text = problems.string(property, in: object, prefix: path + ".") else { return nil }
    if let fault = ContextText.fault(in: text, longest: CallbackLimits.labelLength) {
      problems.add("\(path).\(property)", fault)
    } else if terms.looksOwn(text) {
      problems.add(
        "\(path).\(property)", "This looks like a field that the server adds. Choose another text.")
    }
    return text
  }

  /// The given type, or else the schema's, or else text; nil for an invalid one.
  private mutating func dataType(
    in object: JSONObject, of name: String?, _ path: String
  ) -> ContextField.DataType? {
    let wanted = name.flatMap { settled($0)?.dataType }
    guard object["data_type"] != nil else { return wanted ?? .text }
    guard let text = problems.string("data_type", in: object, prefix: path + ".") else { return nil }
    guard let type = ContextField.DataType.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) })
    else {
      problems.add(path + ".data_type", "Give one of phone, text and url.")
      return nil
    }
    if let wanted, wanted != type {
      problems.add(path + ".data_type", "This field is of the type \(wanted.rawValue).")
      return nil
    }
    return type
  }

  /// Whether a field may have this name. Records the name, so that a second field with it is refused.
  private mutating func take(name: String, _ path: @autoclosure () -> String) -> Bool {
    guard names.insert(Array(name.utf8)).inserted else {
      problems.add(path(), "Another field has this name.")
      return false
    }
    if name.isEmpty {
      problems.add(path(), "Give the field a name.")
      return false
    }
    if terms.adds(name) {
      problems.add(path(), "The server adds this field itself. Leave it out.")
      return false
    }
    if terms.looksOwn(name) {
      problems.add(path(), "This looks like a field that the server adds. Choose another name.")
      return false
    }
    if settled(name) != nil { return true }
    if let fault = ContextText.fault(in: name, longest: CallbackLimits.nameLength) {
      problems.add(path(), fault)
      return false
    }
    if let schema, !schema.allowsOthers {
      problems.add(path(), "This app's callbacks do not have this field. Leave it out.")
      return false
    }
    return true
  }

  private mutating func check(
    _ value: String, of name: String, as type: ContextField.DataType, _ path: @autoclosure () -> String
  ) -> Bool {
    let longest =
      settled(name)?.maximumLength
      ?? (type == .url ? AbsoluteURI.maximumLength : CallbackLimits.valueLength)
    guard let fault = ContextText.fault(in: value, as: type, longest: longest) else { return true }
    problems.add(path(), fault)
    return false
  }

  private func settled(_ name: String) -> Configuration.ContextSchema.Field? {
    schema?.fields.first { $0.name.hasSameBytes(as: name) }
  }

  /// Reports too many fields. The fields beyond the limit are still checked, so that the response lists every
  /// problem.
  private mutating func checkRoom(_ count: Int, _ path: String) {
    guard count > CallbackLimits.fields else { return }
    problems.add(path, "Give at most \(CallbackLimits.fields) fields.")
  }
}
