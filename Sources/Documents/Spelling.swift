// Suggests the known name that a misspelled name probably meant.

import Texts

/// Finds the known name that a misspelled one probably meant.
public enum Spelling {
  /// The known name nearest to a written one, if it is near enough to be a slip.
  ///
  /// Invisible characters in the written name do not count.
  public static func nearest(to written: String, among known: some Sequence<String>) -> String? {
    let written = String(String.UnicodeScalarView(written.unicodeScalars.filter { !$0.isUnseen }))
    let allowed = written.count < 3 ? 0 : max(1, written.count / 3)
    var best: (name: String, distance: Int)?
    for name in known where abs(name.utf8.count - written.utf8.count) <= allowed {
      let distance = distance(fold(written), fold(name))
      if distance <= allowed, distance < best?.distance ?? .max { best = (name, distance) }
    }
    return best?.name
  }

  /// The letters of a name for comparison: case does not count, and a hyphen is an underscore.
  private static func fold(_ text: String) -> [UInt8] {
    text.lowercased().utf8.map { $0 == 0x2D ? 0x5F : $0 }
  }

  /// The number of insertions, deletions, substitutions and swaps of neighbors between two texts (optimal
  /// string alignment).
  package static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var rows = [[Int]](repeating: Array(repeating: 0, count: b.count + 1), count: a.count + 1)
    for i in 0...a.count { rows[i][0] = i }
    for j in 0...b.count { rows[0][j] = j }
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    for i in 1...a.count {
      for j in 1...b.count {
        let substitution = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
        rows[i][j] = min(substitution, rows[i - 1][j] + 1, rows[i][j - 1] + 1)
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
        }
      }
    }
    return rows[a.count][b.count]
  }
}
