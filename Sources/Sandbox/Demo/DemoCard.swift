// One card of the demo page: its markup and the script that works it.

/// A card of the demo page. The page has the cards' markup in its columns, and its script is the shared part and those of all cards.
struct DemoCard: Sendable {
  /// A `<section class="card">`.
  let html: String
  /// What works it. It may use what all cards share, and functions of other cards once all parts are loaded.
  let script: String
}
