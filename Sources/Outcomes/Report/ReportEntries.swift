// Cuts a calls report into its entries, octet by octet, so that a large one is never held as a whole.

/// The entries of a report: the objects of the array that the report is, or that is a member of it. Nothing else is kept, and each
/// entry is parsed strictly by its reader.
package struct ReportEntries: Sendable {
  /// How many octets an entry has at most. A longer one is passed over.
  package static let mostBytes = 64 * 1024
  /// How many octets are read of a report.
  package static let mostReportBytes = 512 << 20
  private static let deepest = 16

  /// Why a report cannot be read on.
  package enum Fault: Error, Hashable, Sendable {
    /// It is larger than what is read.
    case tooLarge
    /// Its brackets do not match.
    case malformed
  }

  /// The open brackets outside an entry.
  private var open: [UInt8] = []
  private var entry: [UInt8] = []
  /// How many brackets are open within the entry; 0 outside one.
  private var depth = 0
  private var isTooLong = false
  private var isInText = false
  private var isEscaped = false
  private var octets = 0
  private var hasBegun = false
  private let most: Int

  /// Begins with the first octet.
  ///
  /// - Parameter most: How many octets are read.
  package init(most: Int = mostReportBytes) { self.most = most }

  /// Whether the report came whole.
  package var isWhole: Bool { hasBegun && open.isEmpty && depth == 0 && !isInText }

  /// Takes the next octets.
  ///
  /// - Returns: The entries that they complete.
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
