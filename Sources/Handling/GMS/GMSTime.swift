// The times of GMS: UTC with milliseconds, as its clients write and read them.

import Gate
import Platform

extension Instant {
  /// Reads a time of a GMS client. Milliseconds are optional, and so is the colon in the offset. A space
  /// may replace the `T`.
  init?(gms text: String) {
    var octets = Array(text.utf8)
    let middle = "yyyy-MM-dd".utf8.count
    if octets.count > middle, octets[middle] == UInt8(ascii: " ") { octets[middle] = UInt8(ascii: "T") }
    if octets.count > 5, [0x2B, 0x2D].contains(octets[octets.count - 5]),
      octets.suffix(4).allSatisfy({ (0x30...0x39).contains($0) })
    {
      octets.insert(UInt8(ascii: ":"), at: octets.count - 2)
    }
    self.init(rfc3339: String(decoding: octets, as: UTF8.self))
  }

  /// The time as GMS clients read it: `2026-11-23T10:00:00.000Z`. They need the three digits and the letter.
  var gms: String {
    var octets: [UInt8] = []
    UnixTime(seconds: seconds, nanoseconds: nanoseconds).appendRFC3339(to: &octets)
    return String(decoding: octets, as: UTF8.self)
  }

  /// The same format without the letter: a time of day in a zone.
  var gmsLocal: String { String(gms.dropLast()) }
}
