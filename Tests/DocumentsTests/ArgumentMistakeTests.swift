// Tests of what the commands say about arguments that were copied from a formatted page, or that a shell left as they were.

import Testing

@testable import Documents

@Suite struct ArgumentMistakeTests {
  @Test(arguments: [
    ("\u{2013}config", "U+2013", "--config"), ("\u{2014}sandbox", "U+2014", "--sandbox"),
    ("\u{2013}-config=canary", "U+2013", "--config"), ("\u{2212}\u{2212}port", "U+2212", "--port"),
    ("\u{2010}p", "U+2010", "--p"), ("\u{2015}url=canary", "U+2015", "--url"),
  ])
  func `an option with the dash of a formatted page is named with hyphens, without its value`(
    _ argument: String, _ codePoint: String, _ option: String
  ) throws {
    let mistake = try #require(ArgumentMistake(argument))
    #expect(mistake == .dash(codePoint, option: option))
    #expect(mistake.message.contains(codePoint) && mistake.message.contains(option))
    #expect(!mistake.message.contains("canary"))
  }

  @Test(arguments: [
    ("\u{201C}canary\u{201D}", "U+201C"), ("\u{2018}canary\u{2019}", "U+2018"),
    ("--reason=\u{201E}canary\u{201C}", "U+201E"),
  ])
  func `a value in curly quotation marks is refused and not shown`(_ argument: String, _ codePoint: String)
    throws
  {
    let mistake = try #require(ArgumentMistake(argument))
    #expect(mistake == .quotationMark(codePoint))
    #expect(mistake.message.contains(codePoint) && !mistake.message.contains("canary"))
  }

  @Test(arguments: ["~", "~/c.yaml", "--config=~/c.yaml", "--dir=~"])
  func `a path that the shell did not expand is refused`(_ argument: String) {
    #expect(ArgumentMistake(argument) == .tilde)
  }

  @Test func `a reason, and what follows two hyphens, may say anything`() {
    let texts = ["\u{2014}vendor", "\u{201E}A\u{201C} und \u{201E}B\u{201C}", "~/srv is full"]
    for text in texts {
      #expect(ArgumentMistake.first(in: ["stop", "--reason", text, "--yes"]) == nil)
      #expect(ArgumentMistake.first(in: ["stop", "--reason=" + text]) == nil)
      #expect(ArgumentMistake.first(in: ["--", text]) == nil)
    }
    #expect(ArgumentMistake.first(in: ["stop", "--reason", "~", "~"]) == .tilde)
  }

  @Test(arguments: [
    "", "-", "--", "--config", "--config=c.yaml", "\u{2014}", "\u{2014} the office is closed", "\u{2212}5",
    "it\u{2019}s closed", "\u{2014}vendor is down",
    "\u{201C}Acme\u{201D} is away", "a~", "./~/c.yaml", "~5 minutes",
    "name=~/x", "München",
  ])
  func `other arguments are left to the command`(_ argument: String) {
    #expect(ArgumentMistake(argument) == nil)
  }
}
