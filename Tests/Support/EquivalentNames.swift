// Names that differ in bytes and that Swift's `String` treats as equal.

/// Pairs of different names that are canonically equivalent.
package let equivalentNames = [
  ["Kevin", "\u{212A}evin"], ["Jos\u{E9}", "Jose\u{301}"], ["a\u{344}", "a\u{308}\u{301}"],
]
