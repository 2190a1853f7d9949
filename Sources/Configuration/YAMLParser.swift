// Splits YAML text into events with libyaml.

import CYAML

/// A position in a YAML file. Lines and columns start at 1; a column is a Unicode scalar.
struct YAMLMark: Hashable {
  var line, column: Int
}

/// An event of libyaml's parser, for one piece of a YAML text.
struct YAMLEvent {
  enum Content {
    case streamEnd
    case documentStart
    /// - Parameter isText: Whether the scalar has no tag, or the tag of a text.
    case scalar(String, isPlain: Bool, isText: Bool)
    /// - Parameter isTagged: Whether the collection has a tag other than the standard's for its kind.
    case sequenceStart(isTagged: Bool)
    case mappingStart(isTagged: Bool)
    /// The end of a sequence or mapping.
    case collectionEnd
    /// An alias, with the name after its asterisk.
    case alias(String)
    /// An event without content: the start of the stream, the end of a document, or any event after the end
    /// of the stream.
    case nothing
  }

  var content: Content
  /// The name of the anchor before the node.
  var anchor: String?
  /// The position where the event starts.
  var mark: YAMLMark
}

/// The reason why libyaml cannot split a text. libyaml's messages quote nothing from the text.
struct YAMLFailure: Error {
  enum Kind {
    /// A character that YAML does not allow, and its offset in bytes.
    case character(offset: Int)
    /// A syntax error.
    case syntax
    /// libyaml ran out of memory.
    case memory
  }

  var kind: Kind
  /// libyaml's description of the error.
  var problem: String
  var mark: YAMLMark
  /// libyaml's description of what it was reading, and the line where that starts.
  var context: (text: String, line: Int)?
}

/// Owns libyaml's parser: `yaml_parser_initialize` to `yaml_parser_delete`. One thread uses it.
///
/// libyaml keeps the address of the parser and of the text, so both stay on the heap until `deinit`.
@safe final class YAMLParser {
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let text: UnsafeMutableBufferPointer<UInt8>

  /// A parser of a text, which must be UTF-8.
  init(_ bytes: [UInt8]) throws(YAMLFailure) {
    unsafe text = .allocate(capacity: bytes.count)
    _ = unsafe text.initialize(from: bytes)
    unsafe parser = .allocate(capacity: 1)
    unsafe parser.initialize(to: yaml_parser_t())
    guard unsafe yaml_parser_initialize(parser) == 1 else { throw failure() }
    unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    unsafe yaml_parser_set_input_string(parser, text.baseAddress, text.count)
  }

  deinit {
    unsafe yaml_parser_delete(parser)
    unsafe parser.deallocate()
    unsafe text.deallocate()
  }

  /// The next event. After the end of the stream, its content is `.nothing`.
  func next() throws(YAMLFailure) -> YAMLEvent {
    var event = unsafe yaml_event_t()
    guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure() }
    defer { unsafe yaml_event_delete(&event) }
    let mark = unsafe Self.mark(event.start_mark)
    switch unsafe event.type {
    case YAML_STREAM_END_EVENT:
      return YAMLEvent(content: .streamEnd, mark: mark)
    case YAML_DOCUMENT_START_EVENT:
      return YAMLEvent(content: .documentStart, mark: mark)
    case YAML_SCALAR_EVENT:
      let scalar = unsafe event.data.scalar
      let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
      let isText = unsafe scalar.quoted_implicit == 1 || Self.isOwn(scalar.tag, "str")
      return YAMLEvent(
        content: .scalar(
          unsafe String(decoding: bytes, as: UTF8.self),
          isPlain: unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE, isText: isText),
        anchor: unsafe Self.string(scalar.anchor), mark: mark)
    case YAML_SEQUENCE_START_EVENT:
      let start = unsafe event.data.sequence_start
      return YAMLEvent(
        content: .sequenceStart(isTagged: unsafe start.implicit == 0 && !Self.isOwn(start.tag, "seq")),
        anchor: unsafe Self.string(start.anchor), mark: mark)
    case YAML_MAPPING_START_EVENT:
      let start = unsafe event.data.mapping_start
      return YAMLEvent(
        content: .mappingStart(isTagged: unsafe start.implicit == 0 && !Self.isOwn(start.tag, "map")),
        anchor: unsafe Self.string(start.anchor), mark: mark)
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT:
      return YAMLEvent(content: .collectionEnd, mark: mark)
    case YAML_ALIAS_EVENT:
      return YAMLEvent(content: .alias(unsafe Self.string(event.data.alias.anchor) ?? ""), mark: mark)
    default:
      return YAMLEvent(content: .nothing, mark: mark)
    }
  }

  /// Whether there is no tag, or one that changes nothing: `!`, or the standard's for this kind of node.
  private static func isOwn(_ tag: UnsafeMutablePointer<yaml_char_t>?, _ kind: String) -> Bool {
    guard let tag = unsafe string(tag) else { return true }
    return tag.isEmpty || tag == "!" || tag == "tag:yaml.org,2002:\(kind)"
  }

  private static func string(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    unsafe pointer.map { unsafe String(cString: $0) }
  }

  private static func mark(_ mark: yaml_mark_t) -> YAMLMark {
    YAMLMark(line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1)
  }

  /// The failure of the last call.
  private func failure() -> YAMLFailure {
    let state = unsafe parser.pointee
    let kind: YAMLFailure.Kind =
      switch unsafe state.error {
      case YAML_READER_ERROR: .character(offset: unsafe Int(clamping: state.problem_offset))
      case YAML_MEMORY_ERROR: .memory
      default: .syntax
      }
    return YAMLFailure(
      kind: kind, problem: unsafe state.problem.map { unsafe String(cString: $0) } ?? "cannot be read",
      mark: unsafe Self.mark(state.problem_mark),
      context: unsafe state.context.map {
        (unsafe String(cString: $0), unsafe Self.mark(state.context_mark).line)
      })
  }
}
