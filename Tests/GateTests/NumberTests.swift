// Tests of phone numbers: how they are read, masked, matched by the number rule and hidden in text.

import Foundation
import Gate
import TestSupport
import Testing
import Texts

@testable import Documents

struct NumberTests {
  @Test(arguments: ["+123456", "+123456789012345", "+14155550123"])
  func `a number is taken as it is written`(_ text: String) throws { #expect(try E164(text).text == text) }

  @Test(arguments: [
    ("", E164Error.empty), ("12125550188", .missingPlus), ("0012125550188", .doubleZero),
    ("00 49 170-1234567", .doubleZeroAndSeparators), ("(00)12125550188", .doubleZeroAndSeparators),
    ("(415) 555-0123", .missingPlusAndSeparators), ("0170-1234567", .missingPlusAndSeparators),
    ("001234567890123456", .doubleZero), ("1234567890123456", .missingPlus), (" ", .missingPlusAndSeparators),
    ("+1 4155550123", .separator), ("+1 415 555 0123 456 789", .separator),
    ("+1-415-5550123", .separator), ("+(1)4155550123", .separator), ("+04155550123", .leadingZero),
    ("+1415555O123", .notDigit), ("+١٢٣٤٥٦٧", .notDigit), ("+12345", .tooShort), ("+", .tooShort),
    ("+1234567890123456", .tooLong), ("++14155550123", .notDigit), ("+14155550123x5", .notDigit),
    ("0049 170x", .notDigit), (" +12125550188", .separator), ("(+1)4155550123", .separator),
    ("+1\u{A0}415\u{2011}555\u{202F}0123", .separator), ("+1415\u{200B}5550123", .unseen("\u{200B}")),
    ("\u{202D}+14155550123\u{202C}", .unseen("\u{202D}")), ("\u{200E}+14155550123", .unseen("\u{200E}")),
    ("+14155550123\u{FE0D}", .unseen("\u{FE0D}")), ("+14155550123\n", .unseen("\n")),
    ("+1415\u{3000}5550123", .unseen("\u{3000}")),
    ("\u{201C}+14155550123\u{201D}", .unseen("\u{201C}")), ("\u{2018}+14155550123", .unseen("\u{2018}")),
    ("+0123456789012345", .leadingZero),
  ])
  func `a malformed number is refused with what is wrong`(_ text: String, _ problem: E164Error) {
    let error = #expect(throws: E164Error.self) { try E164(text) }
    #expect(error == problem)
    if case .unseen(let scalar) = problem { #expect(error?.correction.contains(scalar.codePoint) == true) }
    #expect(text.count < 6 || error?.correction.contains(text) == false)
  }

  @Test func `all but the last two digits are masked, printing included`() throws {
    let number = try E164("+14155550165")
    #expect(number.masked == "+*********65")
    #expect("\(number)" == number.masked)
  }

  @Test
  func
    `premium, shared-cost, personal, pager, short and satellite examples are refused, no line or mobile is`()
    throws
  {
    // A few examples from national numbering plans, then libphonenumber's.
    for text in [
      "+19002123456", "+449012345678", "+447012345678", "+498001234567890".replacing("800", with: "900"),
      "+870301234567", "+881612345678", "+979123456789", "+808123456", "+351112", "+441999", "+15002345678",
    ] {
      #expect(NumberRanges.refuses(try E164(text)), "\(text)")
    }
    for text in [
      "+14155550123", "+351212345678", "+447400123456", "+4930123456", "+18500000000", "+390612345678",
    ] {
      #expect(!NumberRanges.refuses(try E164(text)), "\(text)")
    }
    // Numbers that nobody has: with unassigned calling codes, impossible area codes, or too many or too few
    // digits after +1.
    for text in [
      "+999123456789", "+210123456789", "+10155550100", "+11555550100", "+141555501001", "+1415555010",
      "+141555501",
      "+13111234",
    ] {
      #expect(NumberRanges.refuses(try E164(text)), "\(text)")
    }
    for text in ["+12015550123", "+19995550123", "+13101234"] {
      #expect(!NumberRanges.refuses(try E164(text)), "\(text)")
    }
    var refused = 0
    var passed = 0
    for example in try Vector.table("e164-examples") {
      // A few examples are shorter than E164 allows; they are refused before any rule.
      guard let number = try? E164(example.text("number")) else { continue }
      switch try example.text("kind") {
      case "premiumRate", "sharedCost", "personalNumber", "pager":
        #expect(NumberRanges.refuses(number), "\(number)")
        refused += 1
      case "fixedLine", "mobile":
        let isSatellite = ["870", "881", "882", "883"].contains(try example.text("calling-code"))
        #expect(NumberRanges.refuses(number) == isSatellite, "\(number)")
        passed += 1
      default: break
      }
    }
    #expect(refused > 200 && passed > 450)
  }

  @Test func `the longest prefix decides, a tie denies, and the built-in ranges hold beside a list`() throws {
    func allows(_ text: String, _ rule: NumbersRule) throws -> Bool {
      let policy = try Policy(rules: [Rule(name: "numbers", kind: .numbers(rule))])
      var facts = Facts.request(.callback)
      facts.phone = try E164(text)
      return policy.decide(facts, states: FetchedStates()).denial == nil
    }
    let rule = try NumbersRule(allow: ["+1", "+35121"], deny: ["+351", "+1415555"])
    #expect(try allows("+12125550123", rule))
    #expect(try !allows("+14155550123", rule))
    #expect(try allows("+351212345678", rule))
    #expect(try !allows("+351912345678", rule))
    #expect(try !allows("+447400123456", rule))
    #expect(try !allows("+19002123456", rule))
    #expect(try allows("+19002123456", NumbersRule(allow: ["+1"], refusesDefaultRanges: false)))
    #expect(try allows("+447400123456", NumbersRule(deny: ["+1"])))
    #expect(throws: Refusal.self) { try NumbersRule(allow: ["+1"], deny: ["+1"]) }
    for bad in ["1", "+", "+0", "+1a", "+1234567890123456", "+1 415"] {
      #expect(throws: Refusal.self) { try NumbersRule(allow: [bad]) }
    }
  }
}

@Suite struct HiddenNumbersTests {
  @Test(arguments: [
    ("+14155550100", "+*********00"), ("tel:+14155550100", "tel:+*********00"),
    ("14155550100", "*********00"),
    ("tel:+1-415-555-0100", "tel:+*-***-***-**00"), ("+1 415 555 0100", "+* *** *** **00"),
    ("phone|+14155550100", "phone|+*********00"), ("sms.14155550100.user", "sms.*********00.user"),
    ("(415) 555-0199 x", "(***) ***-**99 x"), ("+1 (415) 555 - 0100", "+* (***) *** - **00"),
    ("0014155550100", "***********00"),
    ("+123456", "+****56"), ("1234567", "*****67"),
    ("ann+14155550100@example.com", "ann+*********00@example.com"),
    ("+1\u{A0}415\u{2011}555\u{2011}0100", "+*\u{A0}***\u{2011}***\u{2011}**00"),
    ("１４１５５５５０１００", "*********００"), ("+1415\u{200D}5550100", "+****\u{200D}*****00"),
    ("2026-12-25 at 14155550100", "2026-12-25 at *********00"), ("2026-12-250", "****-**-*50"),
    ("9999-99-99", "****-**-99"),
    ("14155550100-abcd", "*********00-abcd"), ("user14155550100", "user*********00"),
    ("+14155550100 +14155550101", "+*********00 +*********01"),
  ])
  func `a telephone number is hidden however it is written`(text: String, shown: String) {
    #expect(text.hidingPhoneNumbers == shown)
  }

  @Test(arguments: [
    "", "ann", "user-17", "123456", "123456 and 123456", "status 422, code 0200", "2026-12-25T10:00:00Z",
    "550e8400-e29b-41d4-a716-446655440000", "auth0|5f7c8ec7c33c6c004bbafe82",
    "auth0|601234567890abcdef012345",
    "123456789012345678", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "00u1a2b3c4d5e6f7g8h9",
  ])
  func `an identifier, a date and a small number stay as they are`(text: String) {
    #expect(text.hidingPhoneNumbers == text)
  }

  /// Reading the text once per character would take hours.
  @Test(.timeLimit(.minutes(2))) func `text of any length is read once`() {
    for part in ["1 ", "1", "-", "aaaaaaaaaaaaaaaaaaaa1-", "2026-"] {
      #expect(!String(repeating: part, count: 20_000).hidingPhoneNumbers.isEmpty)
    }
  }
}
