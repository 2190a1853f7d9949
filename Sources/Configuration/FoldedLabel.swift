// Folds names and labels of a callback's context, to tell which of them look alike to an agent.

/// A name or label without what an agent can hardly see: case, blanks, `_`, `-`, combining marks and
/// invisible characters. Fullwidth characters count as ASCII. Look-alikes in other scripts differ.
package struct FoldedLabel: Hashable, Sendable {
  private let octets: [UInt8]

  package init(_ text: String) {
    var folded = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      let narrow =
        (0xFF01...0xFF5E).contains(scalar.value) ? Unicode.Scalar(scalar.value - 0xFEE0) ?? scalar : scalar
      folded += narrow.properties.lowercaseMapping.unicodeScalars.filter { !Self.isHardlySeen($0) }
    }
    octets = Array(String(folded).utf8)
  }

  private static func isHardlySeen(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "_" || scalar == "-" || scalar.properties.isWhitespace { return true }
    return [.nonspacingMark, .format].contains(scalar.properties.generalCategory)
  }
}

extension Configuration.App {
  /// The names, labels and tooltips of the fields that the server adds to callbacks with a verification code.
  /// No field that a caller sends may look like one of them.
  ///
  /// - Parameter additions: The fields that the app's schema adds. Their labels are their names.
  package static func ownLabels(_ additions: [Configuration.ContextSchema.Addition]) -> Set<FoldedLabel> {
    let texts = verificationFields.flatMap { [$0.name, $0.displayName, $0.tooltip] } + additions.map(\.name)
    return Set(texts.map(FoldedLabel.init))
  }
}
