// Tests of the small parts of a token request: forms, dates, `Retry-After` and cleaned texts.

import HTTP
import Platform
import Testing

@testable import Talkdesk
@testable import Tokens

@Suite struct FormContentTests {
  @Test func `a form is encoded as RFC 6749 appendix B shows`() {
    var form = FormContent()
    form.append("a b", " %&+£€")
    form.append("scope", "callback:write x*-._~")
    #expect(
      String(decoding: form.bytes, as: UTF8.self)
        == "a+b=+%25%26%2B%C2%A3%E2%82%AC&scope=callback%3Awrite+x*-._%7E")
  }
}

@Suite struct HTTPDateTests {
  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Mon, 28 Feb 2028 12:00:00 GMT", 1_835_352_000),
      ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ] as [(String, Int64)])
  func `an IMF-fixdate is read`(text: String, seconds: Int64) {
    #expect(HTTPDate.unixSeconds(text) == seconds)
  }

  @Test(arguments: [
    "", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
    "Mon, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT", "Tue, 29 Feb 2001 00:00:00 GMT", "Thu, 29 Feb 2001 00:00:00 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:+7 GMT", "Wed, 31 Dec 1969 23:59:59 GMT",
    "Sun, 06 ovD 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMTx",
  ])
  func `anything else is no date`(text: String) {
    #expect(HTTPDate.unixSeconds(text) == nil)
  }
}

@Suite struct RetryAfterTests {
  private let now = UnixTime(seconds: 784_111_777)

  @Test(arguments: [
    ("0", 0), ("5", 5), ("007", 7), ("60", 60), ("61", 60), ("99999999999999999999999", 60),
  ])
  func `seconds are read and capped`(text: String, seconds: Int) {
    #expect(RetryAfter.read(["Retry-After": text], now: now.seconds) == .seconds(seconds))
  }

  @Test func `a date counts against the reply's own date`() {
    let fields: Fields = [
      "Retry-After": "Sun, 06 Nov 1994 08:50:07 GMT", "Date": "Sun, 06 Nov 1994 08:49:57 GMT",
    ]
    #expect(RetryAfter.read(fields, now: 0) == .seconds(10))
  }

  @Test func `without a date of its own it counts against the clock`() {
    let fields: Fields = ["Retry-After": "Sun, 06 Nov 1994 08:50:07 GMT"]
    #expect(RetryAfter.read(fields, now: now.seconds) == .seconds(30))
    #expect(RetryAfter.read(fields, now: 0) == .seconds(60))
    #expect(RetryAfter.read(fields, now: 1_800_000_000) == .seconds(0))
  }

  @Test(arguments: ["", "-1", "+5", "5s", "1.5", "soon", "0x10", "٥", "5, 6"])
  func `junk is ignored`(text: String) {
    #expect(RetryAfter.read(["Retry-After": text], now: now.seconds) == nil)
  }
}

@Suite struct UpstreamTextTests {
  @Test func `a code is bounded and loses what is no code`() {
    #expect(UpstreamText.code("invalid_client") == "invalid_client")
    #expect(UpstreamText.code("a b\n\"\u{1B}[0m") == "a_b____0m")
    #expect(UpstreamText.code(String(repeating: "x", count: 1000))?.count == 64)
    #expect(UpstreamText.code("") == nil)
  }

  @Test func `a description loses control characters and everything as long as a credential`() {
    let token = String(repeating: "k", count: 41)
    #expect(UpstreamText.description("key \(token) is\r\nbad") == "key […] is??bad")
    #expect((UpstreamText.description(String(repeating: "x ", count: 500)) ?? "").count <= 256)
  }

  @Test(arguments: [
    ("number +14155550199 bad", "number +*********99 bad"), ("4155550199", "********99"),
    ("(415) 555-0199 x", "(***) ***-**99 x"), ("+1 415.555.0199", "+* ***.***.**99"),
    ("123456 and 123456", "123456 and 123456"), ("1234567", "*****67"),
    ("status 422, code 0200", "status 422, code 0200"),
  ])
  func `digits that may be a telephone number do not come through`(text: String, kept: String) {
    #expect(UpstreamText.description(text) == kept)
  }

  @Test func `nor does one that the end cuts in two, or one in a code`() {
    let text = String(repeating: "x ", count: 125) + "+14155550199"
    #expect(UpstreamText.description(text)?.hasSuffix("x +*****") == true)
    #expect(UpstreamText.code("+1 415 555-0199") == "_*_***_***-**99")
    #expect(UpstreamText.code(String(repeating: "x", count: 58) + "4155550199")?.hasSuffix("x******") == true)
  }

  @Test func `a trace id is taken whole or not at all`() {
    #expect(UpstreamText.traceID("00-ab.c:d_E") == "00-ab.c:d_E")
    #expect(UpstreamText.traceID("a b") == nil)
    #expect(UpstreamText.traceID(String(repeating: "a", count: 129)) == nil)
  }
}
