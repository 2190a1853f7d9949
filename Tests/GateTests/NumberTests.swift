import Foundation
import Gate
import Testing

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
    ("+1\u{A0}415\u{2011}555\u{202F}0123", .separator), ("+1415\u{200B}5550123", .notDigit),
    ("+0123456789012345", .leadingZero),
  ])
  func `a malformed number is refused with what is wrong`(_ text: String, _ problem: E164Error) {
    let error = #expect(throws: E164Error.self) { try E164(text) }
    #expect(error == problem)
    #expect(text.count < 6 || error?.correction.contains(text) == false)
  }

  @Test func `all but the last two digits are masked, printing included`() throws {
    let number = try E164("+14155550165")
    #expect(number.masked == "+*********65")
    #expect("\(number)" == number.masked)
    #expect(maskedPhoneNumber("+14155550165") == "+*********65")
    #expect(maskedPhoneNumber("123") == "***")
  }

  @Test
  func
    `premium, shared-cost, personal, pager, short and satellite examples are refused, no line or mobile is`()
    throws
  {
    // Without the shared examples, a few from national numbering plans.
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
    guard let file = sharedFile("vectors/e164_examples.json") else { return }
    struct Examples: Decodable {
      struct Territory: Decodable {
        let cc: String
        let examples: [String: String]
      }
      let territories: [Territory]
    }
    var refused = 0
    var passed = 0
    for territory in try JSONDecoder().decode(Examples.self, from: Data(contentsOf: file)).territories {
      for (kind, text) in territory.examples {
        // A few examples are shorter than E164 allows; they are refused before any rule.
        guard let number = try? E164(text) else { continue }
        switch kind {
        case "premiumRate", "sharedCost", "personalNumber", "pager":
          #expect(NumberRanges.refuses(number), "\(kind) \(text)")
          refused += 1
        case "fixedLine", "mobile":
          #expect(
            NumberRanges.refuses(number) == ["870", "881", "882", "883"].contains(territory.cc),
            "\(kind) \(text)")
          passed += 1
        default: break
        }
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
    #expect(throws: RuleError.self) { try NumbersRule(allow: ["+1"], deny: ["+1"]) }
    for bad in ["1", "+", "+0", "+1a", "+1234567890123456", "+1 415"] {
      #expect(throws: RuleError.self) { try NumbersRule(allow: [bad]) }
    }
  }
}
