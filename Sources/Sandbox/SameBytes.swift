// Compares strings byte by byte, because Swift's `==` accepts canonical equivalents.

extension String {
  /// Whether both are the same bytes. Swift's `==` also holds for canonical equivalents, by which a Kelvin sign is a
  /// `K`: good for people's texts, wrong for identifiers.
  func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
