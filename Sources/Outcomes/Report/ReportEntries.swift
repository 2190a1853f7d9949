// Splits a calls report into its entries, octet by octet, so that a large report never has to fit in memory.

/// Splits a report into its entries: the objects of the array that is the report, or that is a member of the
/// report. Everything else is dropped. The reader of the entries parses each one strictly.
package struct ReportEntries: Sendable {
  /// The maximum size of an entry, in octets. Longer entries are skipped.
  package static let mostBytes = 64 * 1024
  /// The maximum size of a report, in octets: 512 MiB.
  package static let mostReportBytes = 512 << 20
  private static let deepest = 16

  /// The reason why the rest of a report cannot be read.
  package enum Fault: Error, Hashable, Sendable {
    /// The report is larger than the limit.
    case tooLarge
    /// The report's brackets do not match, or are nested too deeply.
    case malformed
  }

  /// The open brackets outside an entry.
  private var open: [UInt8] = []
  private var entry: [UInt8] = []
  /// The number of open brackets within the entry; 0 outside an entry.
  private var depth = 0
  private var isTooLong = false
  private var isInText = false
  private var isEscaped = false
  private var octets = 0
  private var hasBegun = false
  private let most: Int

  /// Creates a splitter at the start of a report.
  ///
  /// - Parameter most: The maximum size of the report, in octets.
  package init(most: Int = mostReportBytes) { self.most = most }

  /// Whether the report is complete.
  package var isWhole: Bool { hasBegun && open.isEmpty && depth == 0 && !isInText }

  /// Reads the next octets.
  ///
  /// - Returns: The entries that these octets complete.
  package mutating func take(_ bytes: [UInt8]) throws(Fault) -> [[UInt8]] {
    octets += bytes.count
    guard octets <= most else { throw .tooLarge }
    var entries: [[UInt8]] = []
    for byte in bytes {
      if depth > 0 {
        if entry.count < Self.mostBytes { entry.append(byte) } else { isTooLong = true }
      }
      if isInText {
        if isEscaped {
          isEscaped = false
        } else if byte == 0x5C {
          isEscaped = true
        } else if byte == 0x22 {
          isInText = false
        }
        continue
      }
      switch byte {
      case 0x22: isInText = true
      case 0x7B, 0x5B:
        hasBegun = true
        if depth > 0 {
          guard depth < Self.deepest else { throw .malformed }
          depth += 1
        } else if byte == 0x7B, open.last == 0x5B, open.count <= 2 {
          (depth, entry, isTooLong) = (1, [byte], false)
        } else {
          guard open.count < Self.deepest else { throw .malformed }
          open.append(byte)
        }
      case 0x7D, 0x5D:
        if depth > 0 {
          depth -= 1
          if depth == 0, !isTooLong { entries.append(entry) }
        } else {
          guard open.popLast() == (byte == 0x7D ? 0x7B : 0x5B) else { throw .malformed }
        }
      default: continue
      }
    }
    return entries
  }
}
