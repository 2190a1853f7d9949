// Tests of which time zone names are accepted.

import Gate
import Testing

@testable import Documents

struct ZoneTests {
  @Test(arguments: [
    "Mars/Phobos", "EST", "GMT+5", "+0300", "", "america/new_york", "Europe/Lisbon ", "local",
    "America/New_York\u{0}",
  ])
  func `a name that is no zone is refused and never read as UTC`(_ name: String) {
    #expect(throws: Refusal.self) { try Zone(named: name) }
  }

  @Test func `a mistyped zone is answered with the one that was meant`() {
    let error = #expect(throws: Refusal.self) { try Zone(named: "Europe/Lisabon") }
    #expect(error?.remedy.contains("Europe/Lisbon") == true)
  }

  @Test(arguments: [
    "GMT+5", "GMT-5", "UTC+5", "Etc/UTC+5", "Etc/GMT5", "etc/gmt+5", "Etc/GMT+55", "Etc/GMTT", "Europe/GMT+1",
  ])
  func `no hint leads to a zone whose sign is the reverse of what people mean`(_ name: String) {
    let error = #expect(throws: Refusal.self) { try Zone(named: name) }
    #expect(error?.remedy.contains("Etc/GMT+") == false && error?.remedy.contains("Etc/GMT-") == false)
    if name.contains(where: \.isNumber) { #expect(error?.remedy.contains("did you mean") == false) }
  }

  @Test(arguments: ["UTC", "Etc/UTC", "America/Argentina/Buenos_Aires", "US/Eastern", "Etc/GMT+5"])
  func `names of the IANA database are taken`(_ name: String) throws {
    #expect(try Zone(named: name).name == name)
  }
}
