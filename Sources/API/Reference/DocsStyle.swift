// The style sheet of the API documentation page.

import Pages

extension DocsPage {
  /// The whole style sheet. `HTMLText.pageFields` puts its digest into the page's policy.
  static let style = Stylesheet.text + layout

  /// A phone gets links to the sections. A desktop gets a list of all operations beside the text.
  static let layout = """
    header { padding: 2rem 0 1.5rem; }
    header p { margin-bottom: 0; color: var(--soft); }
    main { min-width: 0; }
    main > section { margin-bottom: 2.5rem; }
    nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-bottom: 1.5rem; }
    nav h2 { font-size: .875rem; letter-spacing: 0; }
    nav a { display: block; padding: .25rem 0; text-decoration: none; overflow-wrap: anywhere; }
    nav a:hover { text-decoration: underline; }
    nav ul { display: none; margin: 0; padding: 0; list-style: none; font-size: .8125rem; }
    nav li a { display: flex; gap: .5rem; color: var(--ink); }
    nav b { flex: 0 0 3.25rem; line-height: inherit; font-family: var(--mono); font-size: .75rem; font-weight: 600; color: var(--soft); }
    article { margin: 1rem 0; }
    article h3 { display: flex; flex-wrap: wrap; gap: .25rem .5rem; align-items: baseline; margin: 0; }
    article h3 code { font-size: 1rem; }
    summary code { margin: 0 .25rem; }
    .summary { font-weight: 600; }
    td { min-width: 4.5rem; }
    td code { overflow-wrap: normal; }
    :target { border-color: var(--accent); }
    @media (min-width: 60rem) {
      body { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 0 2.5rem; align-items: start; }
      header { grid-column: 1 / -1; }
      nav { display: block; position: sticky; top: 1rem; max-height: calc(100vh - 2rem); overflow-y: auto; }
      nav ul { display: block; margin-bottom: 1rem; }
    }
    @media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }

    """
}
