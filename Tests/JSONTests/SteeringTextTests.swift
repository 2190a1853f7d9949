// Tests of how commands print text from other people.

import Testing
import Texts

@Suite struct SteeringTextTests {
  @Test(arguments: [
    ("agents\u{1B}[2J", #"agents\u{1b}[2J"#), ("\u{1B}]0;title\u{7}", #"\u{1b}]0;title\u{7}"#),
    ("a\r\nforged line", #"a\u{d}\u{a}forged line"#), ("\u{202E}gnp", #"\u{202e}gnp"#),
    ("a\tb\u{0}\u{7F}\u{9B}31m", #"a\u{9}b\u{0}\u{7f}\u{9b}31m"#), ("\u{2028}\u{FEFF}", #"\u{2028}\u{feff}"#),
    ("Zoë 👋 – é", "Zoë 👋 – é"), ("", ""),
  ])
  func `nothing in a name can steer a terminal or forge a line`(name: String, shown: String) {
    #expect(name.withSteeringEscaped == shown)
  }
}
