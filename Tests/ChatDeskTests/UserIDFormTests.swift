// Tests of how the user ids of a chat desk are made.

import JOSE
import Testing

@testable import ChatDesk

@Suite struct UserIDFormTests {
  @Test(arguments: [
    ("{subject}", "ann"), ("{caller}:{subject}", "shop:ann"), ("{subject}@{caller}", "ann@shop"),
    ("prod-{subject}", "prod-ann"),
  ])
  func `a form puts the subject and its caller in their places`(form: String, id: String) throws {
    #expect(try #require(UserIDForm(form)).user("ann", of: "shop").id.text == id)
  }

  @Test(arguments: [
    "", "user", "{caller}", "{subject}{subject}", "{caller}{caller}{subject}", "{subjekt}", "{subject}}",
    "{{subject}",
    "{subject} ", "a b{subject}", "é{subject}", "{subject}\n",
    String(repeating: "x", count: 72) + "{subject}",
  ])
  func `a text that does not make one user id of a subject is no form`(text: String) {
    #expect(UserIDForm(text) == nil)
  }

  @Test func `an id of more than 80 characters becomes its digest`() {
    let form = UserIDForm.subjectAlone
    let longest = String(repeating: "é", count: 80)
    #expect(form.user(longest, of: "a").id.text == longest)
    #expect(
      form.user(longest + "x", of: "a").id.text == Hex.encode(SHA256.digest(Array((longest + "x").utf8))))
    // The limit is on the whole ID, not on the subject.
    #expect(
      UserIDForm.callerAndSubject.user(String(repeating: "x", count: 79), of: "a").id.text.utf8.count == 64)
  }

  @Test(arguments: ["", ".", ".."]) func `an id that would change the path becomes its digest`(
    subject: String
  ) {
    #expect(UserIDForm.subjectAlone.user(subject, of: "a").id.text.utf8.count == 64)
  }

  @Test(arguments: ["a\r\nb", "a\u{0}b", "\u{7F}", "a\tb", "\u{1F}"])
  func `an id with a control character becomes its digest`(subject: String) {
    #expect(
      UserIDForm.subjectAlone.user(subject, of: "a").id.text == Hex.encode(SHA256.digest(Array(subject.utf8)))
    )
  }

  @Test(arguments: [
    "a b", " ", "a\u{202E}b", "a/b", "a?b", "a#b", "a%b", "a\\b", "\u{85}", "~", "ann@example.com",
  ])
  func `an id that Sendbird always took stays`(subject: String) {
    #expect(UserIDForm.subjectAlone.user(subject, of: "a").id.text == subject)
  }

  @Test func `two spellings of one character are two users`() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    #expect(composed == decomposed)
    #expect(
      UserIDForm.subjectAlone.user(composed, of: "a").id
        != UserIDForm.subjectAlone.user(decomposed, of: "a").id)
  }

  @Test(arguments: [
    ("{subject}", "a", "b", false), ("{caller}:{subject}", "a", "b", true),
    ("{caller}:{subject}", "a", "ab", true),
    ("{caller}-{subject}", "a", "a-b", false), ("{caller}{subject}", "a", "ab", false),
    ("{subject}@{caller}", "a", "b", true), ("{subject}-{caller}", "b", "a-b", false),
    ("x{subject}y", "a", "b", false),
  ])
  func `a form separates callers if no id can be a user's of both`(
    form: String, one: String, other: String, isSeparate: Bool
  ) throws {
    let form = try #require(UserIDForm(form))
    #expect(form.separates(one, from: other, in: form) == isSeparate)
    #expect(form.separates(other, from: one, in: form) == isSeparate)
  }

  @Test func `two forms are told apart by what stands around the subject`() throws {
    let (plain, marked) = (UserIDForm.subjectAlone, try #require(UserIDForm("x-{subject}")))
    #expect(!plain.separates("a", from: "b", in: marked))
    #expect(try #require(UserIDForm("y-{subject}")).separates("a", from: "b", in: marked))
    #expect(
      try #require(UserIDForm("{subject}-x")).separates(
        "a", from: "b", in: #require(UserIDForm("{subject}-y"))))
  }
}
