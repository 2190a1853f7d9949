// One card of the operator's page: its markup and the script that works it.

/// A card of the operator's page. The page's script is the shared part and those of all cards.
struct OperatorCard: Sendable {
  /// A `<section class="card">`.
  let html: String
  /// What works it. It may use what all cards share, and functions of other cards once all parts are loaded.
  let script: String
}
