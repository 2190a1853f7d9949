// Declares the allowed values in a document, for the reader and for the JSON Schema.

/// The allowed values of one node of a document.
package indirect enum Shape: Sendable {
  /// Any value.
  case anything
  /// A single value.
  case text(TextSchema)
  /// A single value or a list of them.
  case texts(TextSchema)
  case list(Shape)
  /// Declared keys; `exactlyOne` lists keys of which exactly one is required.
  case mapping([any DeclaredKey], exactlyOne: [String] = [])
  /// A mapping whose names are the operator's own.
  case named(Shape)
  /// A mapping whose further keys depend on the word under one of its keys.
  case variants([any DeclaredKey], by: String, [Variant])
  case either(Shape, Shape)

  /// The further keys that go with a word.
  package struct Variant: Sendable {
    package let word: String
    package let keys: [any DeclaredKey]
    package let exactlyOne: [String]

    package init(_ word: String, _ keys: [any DeclaredKey], exactlyOne: [String] = []) {
      self.word = word
      self.keys = keys
      self.exactlyOne = exactlyOne
    }
  }
}

/// A key of a mapping, of any type.
package protocol DeclaredKey: Sendable {
  var name: String { get }
  /// The shape of the key's value.
  var shape: Shape { get }
  /// The instruction to add the key if it is missing; nil if the key may be left out.
  var remedy: String? { get }
  /// The key's meaning, in a sentence.
  var meaning: String { get }
}

/// A key whose values are read from texts.
package struct Key<Value: Sendable>: DeclaredKey {
  package let name: String
  package let shape: Shape
  package let remedy: String?
  package let meaning: String
  let form: TextForm<Value>

  private init(_ name: String, _ shape: Shape, _ form: TextForm<Value>, _ remedy: String?, _ meaning: String)
  {
    self.name = name
    self.shape = shape
    self.form = form
    self.remedy = remedy
    self.meaning = meaning
  }

  /// A key with a single value.
  package static func one(
    _ name: String, _ form: TextForm<Value>, required remedy: String? = nil, _ meaning: String
  ) -> Self { Self(name, .text(form.schema), form, remedy, meaning) }

  /// A key with a list of values.
  package static func list(_ name: String, _ form: TextForm<Value>, _ meaning: String) -> Self {
    Self(name, .list(.text(form.schema)), form, nil, meaning)
  }

  /// A key with a list of values. A single value counts as a list of one.
  package static func many(_ name: String, _ form: TextForm<Value>, _ meaning: String) -> Self {
    Self(name, .texts(form.schema), form, nil, meaning)
  }
}

/// A key whose value has its own reader.
package struct NestedKey: DeclaredKey {
  package let name: String
  package let shape: Shape
  package let remedy: String?
  package let meaning: String

  /// Declares a key. If `remedy` is not nil, the key is required, and `remedy` says how to write its value.
  package init(_ name: String, _ shape: Shape, required remedy: String? = nil, _ meaning: String) {
    self.name = name
    self.shape = shape
    self.remedy = remedy
    self.meaning = meaning
  }
}
