// The invalid callback bodies that the tests send.

import Testing

/// Bodies of callbacks that must not pass, written down one by one or as a family of one place and many wrong things.
struct BadBody: Sendable, CustomTestStringConvertible {
  var name: String
  var content: [UInt8]
  var code: String
  /// The path that has to be among those named; nil where the code names none.
  var path: String?

  var testDescription: String { name }

  init(_ name: String, _ text: String, _ code: String, _ path: String? = nil) {
    self.init(name, bytes: Array(text.utf8), code, path)
  }

  init(_ name: String, bytes: [UInt8], _ code: String, _ path: String? = nil) {
    self.name = name
    content = bytes
    self.code = code
    self.path = path
  }

  static let all =
    syntax + strings + wholes + contactNumbers + talkdeskNumbers + contexts + fieldShapes + fieldTypes
    + controls
    + urls + phones + sizes

  private static let ok = #""contact_phone_number":"+14155550100""#

  /// 400: not JSON.
  private static let syntax: [BadBody] = [
    "", " ", "{", "}", "[", "]", "{}}", "{]", "[}", "{,}", "{\(ok),}", "{,\(ok)}", "{\(ok)", "{\(ok)]",
    "{\(ok)}x",
    "{\(ok)} {\(ok)}", "{contact_phone_number:\"+14155550100\"}", "{'contact_phone_number':'+14155550100'}",
    "{\"contact_phone_number\"}", "{\"contact_phone_number\":}",
    "{\"contact_phone_number\" \"+14155550100\"}",
    "{\"contact_phone_number\"::\"+14155550100\"}", "{\(ok) \"context\":{}}", "{\(ok),\"context\":{}", "nul",
    "NULL",
    "True", "undefined", "NaN", "Infinity", "-Infinity", "{\"contact_phone_number\":+14155550100}",
    "{\"contact_phone_number\":01}", "{\"contact_phone_number\":1.}", "{\"contact_phone_number\":.5}",
    "{\"contact_phone_number\":1e}", "{\"contact_phone_number\":0x10}", "{\"contact_phone_number\":1_000}",
    "{\"contact_phone_number\":--1}", "{\(ok)/*comment*/}", "{\(ok)}//", "{\(ok),\"context\":{\"a\":\"b\",}}",
    "{\(ok),\"context\":{\"fields\":[,]}}", "{\(ok),\"context\":{\"fields\":[{}{}]}}",
    "{\(ok),\"context\":{\"fields\":[{},]}}", "contact_phone_number=%2B14155550100", "<callback/>",
    "\u{FEFF}{\(ok)}",
    "{\(ok),\(ok)}", "{\"context\":{},\(ok),\"context\":{}}",
    "{\(ok),\"contact_phone_\\u006eumber\":\"+19005550100\"}",
    "{\(ok),\"context\":{\"issue\":\"a\",\"issue\":\"b\"}}",
    "{\(ok),\"context\":{\"fields\":[{\"name\":\"a\",\"value\":\"b\",\"value\":\"c\"}]}}",
    "{\(ok),\"context\":{\"fields\":[],\"fields\":[]}}", "\u{00A0}{\(ok)}", "{\u{2003}\(ok)}",
    String(repeating: "[", count: 33) + String(repeating: "]", count: 33),
    String(repeating: "[", count: 10_000),
    String(repeating: "{\"a\":", count: 33) + "0" + String(repeating: "}", count: 33),
    "{\(ok),\"context\":" + String(repeating: "[", count: 32) + String(repeating: "]", count: 32) + "}",
  ].enumerated().map { BadBody("syntax \($0): \($1.prefix(40))", $1, "invalid_json") }

  /// 400: strings that are none.
  private static let strings: [BadBody] = {
    let texts = [
      #"\ud800"#, #"\udc00"#, #"\ud800\ud800"#, #"\ud83dx"#, #"\ude00\ud83d"#, #"\u12"#, #"\uZZZZ"#, #"\x41"#,
      #"\'"#,
      "a\nb", "a\rb", "a\tb", "a\u{0}b", "\u{1F}", #"\u 041"#, #"\"#,
    ]
    let bytes: [[UInt8]] = [
      [0xFF], [0xC0, 0xAF], [0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0xC3, 0x28],
      [0xFE, 0xFF],
    ]
    let head = Array("{\(ok),\"context\":{\"issue\":\"".utf8)
    let tail = Array("\"}}".utf8)
    return texts.enumerated().map {
      BadBody("string \($0)", bytes: head + Array($1.utf8) + tail, "invalid_json")
    } + bytes.enumerated().map { BadBody("UTF-8 \($0)", bytes: head + $1 + tail, "invalid_json") }
      + [
        BadBody(
          "UTF-16", bytes: Array("{\(ok)}".utf16).flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] },
          "invalid_json"),
        BadBody("NUL after the end", bytes: Array("{\(ok)}".utf8) + [0], "invalid_json"),
      ]
  }()

  /// 422: JSON, but no object, or one with strange members.
  private static let wholes: [BadBody] =
    ["null", "true", "0", "1e999", "\"+14155550100\"", "[]", "[{\(ok)}]"].map {
      BadBody("whole \($0)", $0, "invalid_request")
    } + [
      BadBody("empty object", "{}", "invalid_request", "contact_phone_number"),
      BadBody("another case", "{\(ok),\"Context\":{}}", "invalid_request", "Context"),
      BadBody("a space in the name", "{\(ok),\"context \":{}}", "invalid_request", "context "),
      BadBody("proto", "{\(ok),\"__proto__\":{}}", "invalid_request", "__proto__"),
      BadBody("empty name", "{\(ok),\"\":1}", "invalid_request", ""),
      BadBody("url of our own", "{\(ok),\"url\":\"http://169.254.169.254/\"}", "invalid_request", "url"),
    ]

  private static let notStrings = [
    "null", "true", "14155550100", "1e400", "-0", "[]", "{}", "[\"+14155550100\"]",
    "{\"number\":\"+14155550100\"}",
    String(repeating: "9", count: 400),
  ]

  private static let notNumbers = [
    "", "+", "0", "+1", "112", "+112", "14155550100", "0014155550100", "+0014155550100", "++14155550100",
    "+1 4155550100",
    " +14155550100", "+14155550100 ", "+1-415-555-0100", "+1(415)5550100", "+1.415.555.0100", "+1415555010o",
    "+14155550100;ext=5", "+14155550100,,5", "tel:+14155550100", "+14155550100\\u0000", "+14155550100\\n",
    "+14155550100\\r\\nX: y", "+\\uff11\\uff14155550100", "\\u202a+14155550100", "+1415555010\\u0660",
    "+1234567890123456",
    "+99999999999999999999999999", "*67+14155550100", "sip:a@b.example",
  ]

  private static let contactNumbers =
    notStrings.map {
      BadBody(
        "contact \($0.prefix(30))", "{\"contact_phone_number\":\($0)}", "invalid_request",
        "contact_phone_number")
    }
    + notNumbers.map {
      BadBody(
        "contact \"\($0)\"", "{\"contact_phone_number\":\"\($0)\"}", "invalid_request", "contact_phone_number"
      )
    }

  private static let talkdeskNumbers =
    notStrings.map {
      BadBody(
        "own \($0.prefix(30))", "{\(ok),\"talkdesk_phone_number\":\($0)}", "invalid_request",
        "talkdesk_phone_number")
    }
    + ["", "18500000000", "+1 8500000000", "+18500000009", "+18500000000\\n"].map {
      BadBody(
        "own \"\($0)\"", "{\(ok),\"talkdesk_phone_number\":\"\($0)\"}", "invalid_request",
        "talkdesk_phone_number")
    }

  /// 422: the context as a whole, and the short form.
  private static let contexts: [BadBody] = [
    ("null", "context"), ("true", "context"), ("7", "context"), ("\"x\"", "context"), ("[]", "context"),
    ("[{\"name\":\"a\",\"value\":\"b\"}]", "context"), ("{\"fields\":null}", "context.fields"),
    ("{\"fields\":{}}", "context.fields"), ("{\"fields\":\"x\"}", "context.fields"),
    ("{\"fields\":1}", "context.fields"),
    ("{\"fields\":[],\"issue\":\"x\"}", "context.issue"), ("{\"issue\":null}", "context.issue"),
    ("{\"issue\":1}", "context.issue"), ("{\"issue\":1e400}", "context.issue"),
    ("{\"issue\":[\"x\"]}", "context.issue"),
    ("{\"issue\":{\"value\":\"x\"}}", "context.issue"), ("{\"issue\":false}", "context.issue"),
    ("{\"\":\"x\"}", "context."),
  ].map { BadBody("context \($0.0)", "{\(ok),\"context\":\($0.0)}", "invalid_request", $0.1) }

  private static func field(_ name: String, _ text: String, _ path: String) -> BadBody {
    BadBody(
      name, "{\(ok),\"context\":{\"fields\":[{\"name\":\"first\",\"value\":\"\"},\(text)]}}",
      "invalid_request",
      "context.fields[1]" + path)
  }

  private static let fieldShapes: [BadBody] = [
    field("field null", "null", ""), field("field string", "\"issue\"", ""), field("field array", "[]", ""),
    field("field number", "3", ""), field("field empty", "{}", ".name"),
    field("field without name", "{\"value\":\"x\"}", ".name"),
    field("field without value", "{\"name\":\"a\"}", ".value"),
    field("name empty", "{\"name\":\"\",\"value\":\"x\"}", ".name"),
    field("name twice", "{\"name\":\"first\",\"value\":\"x\"}", ".name"),
    field("name twice, escaped", "{\"name\":\"\\u0066irst\",\"value\":\"x\"}", ".name"),
    field("unknown member", "{\"name\":\"a\",\"value\":\"x\",\"required\":true}", ".required"),
    field("camel case", "{\"name\":\"a\",\"value\":\"x\",\"displayName\":\"A\"}", ".displayName"),
    field("type in capitals", "{\"name\":\"a\",\"value\":\"x\",\"data_type\":\"TEXT\"}", ".data_type"),
    field("type unknown", "{\"name\":\"a\",\"value\":\"x\",\"data_type\":\"html\"}", ".data_type"),
    field("type empty", "{\"name\":\"a\",\"value\":\"x\",\"data_type\":\"\"}", ".data_type"),
    field("type with NUL", "{\"name\":\"a\",\"value\":\"x\",\"data_type\":\"text\\u0000\"}", ".data_type"),
  ]

  private static let properties = ["name", "display_name", "tooltip_text", "data_type", "value"]

  private static func field(with property: String, _ value: String) -> String {
    var members = ["name": "\"a\"", "value": "\"x\""]
    members[property] = value
    return "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
      + "}"
  }

  /// 422: each property as each wrong type.
  private static let fieldTypes = properties.flatMap { property in
    ["null", "true", "1", "[]", "{}"].map {
      field("\(property) \($0)", field(with: property, $0), "." + property)
    }
  }

  /// 422: control characters in every text.
  private static let controls = properties.flatMap { property in
    ["\\n", "\\r", "\\r\\nX-Injected: 1", "\\u0000", "\\t", "\\u001b[31m", "\\u007f", "\\u0085", "\\u2028"]
      .map {
        field("\(property) with \($0)", field(with: property, "\"a\($0)b\""), "." + property)
      }
  }

  private static let urls = [
    "", "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\\nscript:alert(1)", "data:text/html,x", "DATA:,x",
    "file:///etc/passwd", "File:x", " https://a.example", "//a.example", "/path", "a.example", ":x", "1a:x",
    "a b:x",
    "https://a b", "https://a.example/a b", "https://a.example/\\u0000", "https://a.example/%",
    "https://a.example/%zz",
    "https://a.example\\\\@evil.example", "https://a@b@c", "https://a.example:x", "https://[::1",
    "https://[zz]",
    "https://[127.0.0.1]", "https://[v1.]", "https://[::1]x", "https://a]", "https://[@a", "x:[", "x:#a#b",
    "https://é.example", "https://a.example/é", "https://a.example/<script>", "https://a.example/\\\"",
    "https://a.example/`x`", "https://a.example/{x}", "https://a.example/" + x(2031),
  ].map { field("url \($0)", "{\"name\":\"a\",\"data_type\":\"url\",\"value\":\"\($0)\"}", ".value") }

  private static let phones = notNumbers.map {
    field("phone \"\($0)\"", "{\"name\":\"a\",\"data_type\":\"phone\",\"value\":\"\($0)\"}", ".value")
  }

  /// 413 and 422: too much.
  private static let sizes: [BadBody] = [
    BadBody("1 MB string", "{\(ok),\"context\":{\"issue\":\"" + x(1 << 20) + "\"}}", "content_too_large"),
    BadBody("1 MB name", "{\"" + x(1 << 20) + "\":1}", "content_too_large"),
    BadBody("1 MB of blanks", "{\(ok)}" + String(repeating: " ", count: 1 << 20), "content_too_large"),
    BadBody(
      "1 MB of digits", "{\"contact_phone_number\":" + String(repeating: "9", count: 1 << 20) + "}",
      "content_too_large"),
    BadBody("1 MB of brackets", String(repeating: "[", count: 1 << 20), "content_too_large"),
    BadBody("1 MB that is not JSON", x(1 << 20), "content_too_large"),
    field("long value", "{\"name\":\"a\",\"value\":\"\(x(256))\"}", ".value"),
    field("long name", "{\"name\":\"\(x(65))\",\"value\":\"\"}", ".name"),
    field(
      "long display name", "{\"name\":\"a\",\"value\":\"\",\"display_name\":\"\(x(256))\"}", ".display_name"),
    field("long tooltip", "{\"name\":\"a\",\"value\":\"\",\"tooltip_text\":\"\(x(256))\"}", ".tooltip_text"),
    BadBody(
      "300 members",
      "{\(ok),\"context\":{" + (0..<300).map { "\"f\($0)\":\"\"" }.joined(separator: ",") + "}}",
      "invalid_request", "context"),
    BadBody(
      "300 unknown members", "{\(ok)," + (0..<300).map { "\"f\($0)\":1" }.joined(separator: ",") + "}",
      "invalid_request", "f98"),
    BadBody(
      "21 fields", "{\(ok),\"context\":{" + (0..<21).map { "\"f\($0)\":\"\"" }.joined(separator: ",") + "}}",
      "invalid_request", "context"),
  ]

  private static func x(_ count: Int) -> String { String(repeating: "x", count: count) }
}
