// The style sheet of the demo page.

import Pages

extension DemoClient {
  /// What `GET /_sandbox/demo.css` answers.
  static let style = Stylesheet.text + layout

  /// One column on a phone, two on a desktop.
  static let layout = """
    header { padding: 2rem 0 1.5rem; }
    header p { margin-bottom: 0; color: var(--soft); }
    header .badge { margin-left: .25rem; }
    .countdown { margin: 1.25rem 0 .25rem; }
    .countdown strong { font-size: 1.75rem; font-variant-numeric: tabular-nums; }
    header a, td { white-space: nowrap; }
    td:last-child { min-width: 6rem; white-space: normal; }
    #claims, #phone-facts { font-size: .875rem; }
    #times { max-height: 14rem; padding: .375rem; overflow-y: auto; }
    #times small { margin-left: .375rem; }
    #call-record { margin-bottom: 0; overflow-wrap: anywhere; }
    @media (min-width: 60rem) { main { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; } }

    """
}
