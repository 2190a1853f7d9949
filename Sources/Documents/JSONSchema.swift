// Writes a declared `Shape` as JSON Schema 2020-12, for editors that check YAML 1.2 files.

import JSON

extension Shape {
  /// The schema of a document of this shape, as text; ends with a newline.
  package func schema(title: String) -> String {
    var document: JSONObject = ["$schema": "https://json-schema.org/draft/2020-12/schema"]
    document.append("title", .string(title))
    for (name, value) in schema.members { document.append(name, value) }
    return JSONValue.object(document).indented + "\n"
  }

  /// The schema without its title. A plain `8080` or `true` is not a string in YAML 1.2, but the reader
  /// accepts it as text.
  private var schema: JSONObject {
    switch self {
    case .anything: [:]
    case .text(let text): text.schema
    case .texts(let text): Self.any([text.schema, Shape.list(.text(text)).schema])
    case .list(let item): ["type": "array", "items": .object(item.schema)]
    case .either(let one, let other): Self.any([one.schema, other.schema])
    case .named(let shape): ["type": "object", "additionalProperties": .object(shape.schema)]
    case .mapping(let keys, let alternatives):
      Self.mapping(Self.properties(keys), required: keys, exactlyOne: alternatives)
    case .variants(let common, let by, let variants):
      Self.variants(common, by: by, variants)
    }
  }

  private static func any(_ schemas: [JSONObject]) -> JSONObject {
    ["anyOf": .array(schemas.map(JSONValue.object))]
  }

  private static func mapping(
    _ properties: JSONObject, required keys: [any DeclaredKey], exactlyOne alternatives: [String]
  ) -> JSONObject {
    var schema: JSONObject = ["type": "object", "properties": .object(properties)]
    schema.append("additionalProperties", false)
    let required = keys.filter { $0.remedy != nil }.map { JSONValue.string($0.name) }
    if !required.isEmpty { schema.append("required", .array(required)) }
    if !alternatives.isEmpty {
      schema.append("oneOf", .array(alternatives.map { ["required": [.string($0)]] }))
    }
    return schema
  }

  private static func properties(_ keys: [any DeclaredKey]) -> JSONObject {
    var properties = JSONObject()
    for key in keys {
      var schema = key.shape.schema
      if !key.meaning.isEmpty { schema.append("description", .string(key.meaning)) }
      properties.append(key.name, .object(schema))
    }
    return properties
  }

  /// The common keys, and for each word the keys that go with it.
  private static func variants(_ common: [any DeclaredKey], by key: String, _ variants: [Variant])
    -> JSONObject
  {
    var schema = mapping(properties(common), required: common, exactlyOne: [])
    schema["additionalProperties"] = nil
    let cases = variants.map { variant -> JSONValue in
      var properties = properties(variant.keys)
      for key in common { properties.append(key.name, true) }
      let further = mapping(properties, required: variant.keys, exactlyOne: variant.exactlyOne)
      return [
        "if": ["properties": .object([key: ["const": .string(variant.word)]]), "required": [.string(key)]],
        "then": .object(further),
      ]
    }
    schema.append("allOf", .array(cases))
    return schema
  }
}

extension TextSchema {
  /// The values that the reader accepts, typed as in YAML 1.2.
  fileprivate var schema: JSONObject {
    switch self {
    case .text: ["type": ["string", "number", "boolean"]]
    case .pattern(let pattern): ["type": "string", "pattern": .string(pattern)]
    case .words(let words): ["enum": .array(words.map(JSONValue.string))]
    case .boolean: ["enum": [true, false, "true", "false"]]
    case .duration: ["type": "string", "pattern": "^(0|[1-9][0-9]{0,10})(ms|s|m|h|d)$"]
    case .number(let range):
      [
        "anyOf": [
          [
            "type": "integer", "minimum": .number(JSONNumber(range.lowerBound)),
            "maximum": .number(JSONNumber(range.upperBound)),
          ],
          ["type": "string", "pattern": "^(0|[1-9][0-9]{0,11})$"],
        ]
      ]
    }
  }
}
