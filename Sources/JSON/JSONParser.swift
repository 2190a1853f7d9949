/// Parses one JSON text (RFC 8259) strictly: no byte order mark, no duplicate names, no comments, nothing
/// after the value. Each step checks a bound before it reads or allocates; recursion is bounded by
/// `JSONLimits.depth`.

extension JSONValue {
  /// Reads a text, which must be UTF-8 and contain exactly one value with optional white space around it.
  ///
  /// - Throws: The first mistake, with its byte offset.
  public init(parsing bytes: [UInt8], limits: JSONLimits = .default) throws(JSONError) {
    var parser = JSONParser(bytes: bytes, limits: limits)
    self = try parser.document()
  }
}

/// The state of the parser: a position that only moves forward.
struct JSONParser {
  let bytes: [UInt8]
  let limits: JSONLimits
  var position = 0
  private var depth = 0
  private var values = 0

  init(bytes: [UInt8], limits: JSONLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  /// The byte at the position, nil at the end.
  var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  mutating func document() throws(JSONError) -> JSONValue {
    guard bytes.count <= limits.bytes else { throw JSONError(limits.bytes, .tooLong) }
    // RFC 8259 §8.1 allows a parser to ignore a byte order mark. Two readers that differ in this would be a
    // security hole, so it is refused.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { throw JSONError(0, .byteOrderMark) }
    skipWhiteSpace()
    guard next != nil else { throw JSONError(position, .empty) }
    let value = try value()
    skipWhiteSpace()
    guard next == nil else { throw JSONError(position, .trailingBytes) }
    return value
  }

  private mutating func value() throws(JSONError) -> JSONValue {
    guard let first = next else { throw JSONError(position, .unterminated) }
    values += 1
    guard values <= limits.values else { throw JSONError(position, .tooManyValues) }
    switch first {
    case UInt8(ascii: "{"): return .object(try object())
    case UInt8(ascii: "["): return .array(try array())
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: throw JSONError(position, .expectedValue)
    }
  }

  private mutating func object() throws(JSONError) -> JSONObject {
    try enter()
    var object = JSONObject()
    // Few members are compared one by one, many through a set, so that no text costs quadratic time.
    var names: Set<[UInt8]> = []
    if close(UInt8(ascii: "}")) { return object }
    while true {
      skipWhiteSpace()
      guard let quote = next else { throw JSONError(position, .unterminated) }
      guard quote == UInt8(ascii: "\"") else { throw JSONError(position, .expectedName) }
      let start = position
      let name = try string()
      guard object.count < limits.members else { throw JSONError(start, .tooManyMembers) }
      if object.count == 8 { for member in object.members { names.insert(Array(member.name.utf8)) } }
      let isNew = object.count < 8 ? object[name] == nil : names.insert(Array(name.utf8)).inserted
      guard isNew else { throw JSONError(start, .duplicateName) }
      skipWhiteSpace()
      guard let colon = next else { throw JSONError(position, .unterminated) }
      guard colon == UInt8(ascii: ":") else { throw JSONError(position, .expectedColon) }
      position += 1
      skipWhiteSpace()
      object.appendUnchecked(name, try value())
      if try closeOrComma(UInt8(ascii: "}")) { return object }
    }
  }

  private mutating func array() throws(JSONError) -> [JSONValue] {
    try enter()
    var elements: [JSONValue] = []
    if close(UInt8(ascii: "]")) { return elements }
    while true {
      skipWhiteSpace()
      elements.append(try value())
      if try closeOrComma(UInt8(ascii: "]")) { return elements }
    }
  }

  private mutating func enter() throws(JSONError) {
    guard depth < limits.depth else { throw JSONError(position, .tooDeep) }
    depth += 1
    position += 1
  }

  /// Skips the closing bracket if it is next, and returns whether it was.
  private mutating func close(_ bracket: UInt8) -> Bool {
    skipWhiteSpace()
    guard next == bracket else { return false }
    position += 1
    depth -= 1
    return true
  }

  /// Skips the closing bracket or a comma after an element. Returns true for the bracket.
  private mutating func closeOrComma(_ bracket: UInt8) throws(JSONError) -> Bool {
    if close(bracket) { return true }
    guard let comma = next else { throw JSONError(position, .unterminated) }
    guard comma == UInt8(ascii: ",") else { throw JSONError(position, .expectedComma) }
    position += 1
    return false
  }

  private mutating func literal(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
    for expected in word.utf8 {
      guard let byte = next else { throw JSONError(position, .unterminated) }
      guard byte == expected else { throw JSONError(position, .expectedValue) }
      position += 1
    }
    return value
  }

  /// RFC 8259 §6: `-`? int frac? exp?, where an int has no leading zero.
  private mutating func number() throws(JSONError) -> JSONNumber {
    let start = position
    if next == UInt8(ascii: "-") { position += 1 }
    if next == UInt8(ascii: "0") {
      position += 1
      if let byte = next, isDigit(byte) { throw JSONError(position, .invalidNumber) }
    } else {
      try digits()
    }
    if next == UInt8(ascii: ".") {
      position += 1
      try digits()
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      try digits()
    }
    return JSONNumber(checked: String(decoding: bytes[start..<position], as: UTF8.self))
  }

  private mutating func digits() throws(JSONError) {
    guard let first = next else { throw JSONError(position, .unterminated) }
    guard isDigit(first) else { throw JSONError(position, .invalidNumber) }
    while let byte = next, isDigit(byte) { position += 1 }
  }

  private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  private mutating func skipWhiteSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }
}
