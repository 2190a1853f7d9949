// Decodes chunked request bodies (RFC 9112 §7.1), and checks and drops extensions and trailers.

/// Removes the chunked transfer coding (RFC 9112 §7.1), octet by octet. Extensions and trailers are checked
/// and dropped.
struct ChunkedDecoder: Sendable {
  /// The result of decoding more octets.
  enum Outcome {
    case incomplete
    case complete
    case failed(ParseFailure)
  }

  private enum State: UInt8 {
    case sizeStart, size
    case spaceBeforeExtension, extensionStart, extensionName, spaceAfterExtensionName
    case extensionValueStart, extensionToken, extensionQuoted, extensionQuotedPair, afterExtensionValue
    case sizeLineFeed
    case data, dataReturn, dataLineFeed
    case trailerStart, trailerName, trailerValue, trailerLineFeed, endLineFeed
  }

  /// The number of octets by which framing may exceed the content that it carries. 100,000 chunks of ten
  /// octets pass, a million chunks of one octet do not: framing that outweighs its content is an attack on
  /// the reader.
  static let overheadAllowance = 16_384

  private var state = State.sizeStart
  /// The size being read, then the data octets still to come.
  private var remaining = 0
  /// Octets of framing so far.
  private var overhead = 0
  private var trailerLines = 0

  /// Decodes from an offset, and moves it past the decoded octets.
  mutating func decode(
    _ input: Span<UInt8>, from offset: inout Int, into content: inout [UInt8], limits: borrowing MessageLimits
  ) -> Outcome {
    while offset < input.count {
      if state == .data {
        let count = min(remaining, input.count - offset)
        content.append(contentsOf: input.extracting(offset..<(offset + count)))
        offset += count
        remaining -= count
        if remaining == 0 { state = .dataReturn }
        continue
      }
      let octet = input[offset]
      offset += 1
      overhead += 1
      if overhead > Self.overheadAllowance + content.count { return .failed(.contentTooLarge) }
      if let outcome = step(octet, contentCount: content.count, limits: limits) { return outcome }
    }
    return .incomplete
  }

  /// Steps by one octet of framing; returns an outcome when the content ends or is refused.
  private mutating func step(
    _ octet: UInt8, contentCount: Int, limits: borrowing MessageLimits
  ) -> Outcome? {
    switch state {
    case .sizeStart, .size:
      if let digit = octet.hexValue {
        remaining = remaining << 4 | Int(digit)
        // Checked at each digit, so the size can never overflow.
        if remaining > limits.contentBytes - contentCount { return .failed(.contentTooLarge) }
        state = .size
        return nil
      }
      guard state == .size else { return .failed(.malformed) }
      return afterSize(octet)
    case .spaceBeforeExtension:
      if octet == UInt8(ascii: ";") {
        state = .extensionStart
        return nil
      }
      return isBlank(octet) ? nil : .failed(.malformed)
    case .extensionStart, .extensionName, .spaceAfterExtensionName, .extensionValueStart, .extensionToken,
      .extensionQuoted, .extensionQuotedPair, .afterExtensionValue:
      return stepExtension(octet)
    case .sizeLineFeed:
      guard octet == 0x0A else { return .failed(.malformed) }
      state = remaining == 0 ? .trailerStart : .data
      return nil
    case .dataReturn:
      return move(.dataLineFeed, if: octet == 0x0D)
    case .dataLineFeed:
      return move(.sizeStart, if: octet == 0x0A)
    case .trailerStart, .trailerName, .trailerValue, .trailerLineFeed, .endLineFeed:
      return stepTrailer(octet, limits: limits)
    case .data:
      preconditionFailure("an octet of data outside of a run")
    }
  }

  /// Reads the octet after a size or an extension: white space, the start of another extension, or the end of
  /// the line.
  private mutating func afterSize(_ octet: UInt8) -> Outcome? {
    switch octet {
    case UInt8(ascii: ";"): state = .extensionStart
    case 0x0D: state = .sizeLineFeed
    // "Bad" white space is allowed before a semicolon only (RFC 9112 §7.1.1).
    case 0x20, 0x09: state = .spaceBeforeExtension
    default: return .failed(.malformed)
    }
    return nil
  }

  private mutating func stepExtension(_ octet: UInt8) -> Outcome? {
    switch state {
    case .extensionStart:
      return isBlank(octet) ? nil : move(.extensionName, if: OctetSet.token.contains(octet))
    case .extensionName:
      if OctetSet.token.contains(octet) { return nil }
      if octet == UInt8(ascii: "=") { return move(.extensionValueStart, if: true) }
      return isBlank(octet) ? move(.spaceAfterExtensionName, if: true) : afterSize(octet)
    case .spaceAfterExtensionName:
      if isBlank(octet) { return nil }
      if octet == UInt8(ascii: "=") { return move(.extensionValueStart, if: true) }
      return move(.extensionStart, if: octet == UInt8(ascii: ";"))
    case .extensionValueStart:
      if isBlank(octet) { return nil }
      if octet == UInt8(ascii: "\"") { return move(.extensionQuoted, if: true) }
      return move(.extensionToken, if: OctetSet.token.contains(octet))
    case .extensionToken:
      return OctetSet.token.contains(octet) ? nil : afterSize(octet)
    case .extensionQuoted:
      if octet == UInt8(ascii: "\"") { return move(.afterExtensionValue, if: true) }
      if octet == UInt8(ascii: "\\") { return move(.extensionQuotedPair, if: true) }
      return move(.extensionQuoted, if: isText(octet))
    case .extensionQuotedPair:
      return move(.extensionQuoted, if: isText(octet))
    default:
      return afterSize(octet)
    }
  }

  /// Reads one octet of the trailer. Trailer fields have the grammar of header fields, and none has any
  /// effect (RFC 9110 §6.5.1).
  private mutating func stepTrailer(_ octet: UInt8, limits: borrowing MessageLimits) -> Outcome? {
    switch state {
    case .trailerStart:
      if octet == 0x0D { return move(.endLineFeed, if: true) }
      trailerLines += 1
      guard trailerLines <= limits.fieldLines else { return .failed(.fieldsTooLarge) }
      return move(.trailerName, if: OctetSet.token.contains(octet))
    case .trailerName:
      if octet == UInt8(ascii: ":") { return move(.trailerValue, if: true) }
      return move(.trailerName, if: OctetSet.token.contains(octet))
    case .trailerValue:
      if octet == 0x0D { return move(.trailerLineFeed, if: true) }
      return move(.trailerValue, if: isText(octet))
    case .trailerLineFeed:
      return move(.trailerStart, if: octet == 0x0A)
    default:
      return octet == 0x0A ? .complete : .failed(.malformed)
    }
  }

  private mutating func move(_ next: State, if allowed: Bool) -> Outcome? {
    guard allowed else { return .failed(.malformed) }
    state = next
    return nil
  }

  private func isBlank(_ octet: UInt8) -> Bool { octet == 0x20 || octet == 0x09 }

  /// Whether an octet is allowed in a field value or a quoted string.
  private func isText(_ octet: UInt8) -> Bool { octet >= 0x20 && octet != 0x7F || octet == 0x09 }
}
