// The style sheet of the API documentation page.

extension DocsPage {
  /// The page's style: light and dark, readable at any width.
  static let style = """
    :root {
      color-scheme: light dark;
      --ink: #1b2430; --soft: #53606f; --paper: #f5f6f8; --card: #ffffff; --line: #d5dae1; --accent: #5b2ee0;
      --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --ink: #e9edf2; --soft: #a9b4c2; --paper: #12161c; --card: #1b2129; --line: #353f4c; --accent: #b7a2ff;
      }
    }
    * { box-sizing: border-box; }
    html { scroll-padding-top: 1rem; }
    body {
      margin: 0 auto; max-width: 76rem; padding: 0 1rem 4rem; background: var(--paper); color: var(--ink);
      font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
    }
    header { padding: 1.5rem 0 .5rem; }
    h1 { margin: 0; font-size: 1.9rem; letter-spacing: -.02em; }
    h1 span, .soft, small { color: var(--soft); font-weight: 400; }
    h1 span { font-size: 1rem; letter-spacing: 0; }
    h2 { margin: 2.2rem 0 .2rem; font-size: 1.4rem; }
    h3 { margin: 0 0 .2rem; font-size: 1.1rem; overflow-wrap: anywhere; }
    h4 { margin: 1.1rem 0 .3rem; font-size: .95rem; color: var(--soft); }
    p { margin: .3rem 0 .7rem; max-width: 46rem; }
    a { color: var(--accent); }
    code, pre { font-family: var(--mono); font-size: .87em; overflow-wrap: anywhere; }
    pre {
      margin: .4rem 0; padding: .7rem .8rem; background: var(--paper); border: 1px solid var(--line);
      border-radius: .5rem; white-space: pre-wrap;
    }
    nav, article, main > section:first-child {
      background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1rem 1.2rem;
    }
    nav { columns: 8.5rem; column-gap: 1.2rem; margin-bottom: .9rem; }
    nav div { break-inside: avoid; padding-bottom: .8rem; }
    nav h2 { margin: 0; font-size: .95rem; color: var(--soft); }
    nav ul { list-style: none; margin: 0; padding: 0; }
    nav a { display: block; padding: .22rem 0; text-decoration: none; overflow-wrap: anywhere; }
    nav a:hover { text-decoration: underline; }
    nav b { display: inline-block; min-width: 2.9rem; font-size: .75rem; color: var(--soft); }
    h3 b, summary b { color: var(--accent); }
    main { min-width: 0; }
    article { margin: .9rem 0; }
    .summary { font-weight: 600; }
    summary { cursor: pointer; padding: .3rem 0; }
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; }
    th, td { text-align: left; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
    th { font-size: .82rem; color: var(--soft); }
    td { min-width: 4rem; }
    td code { overflow-wrap: normal; }
    table { min-width: 28rem; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    :target { border-color: var(--accent); }
    .skip { position: absolute; left: -99rem; }
    .skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem; }
    @media (min-width: 60rem) {
      body { display: grid; grid-template-columns: 17rem 1fr; gap: 0 2rem; align-items: start; }
      header { grid-column: 1 / -1; }
      nav { columns: auto; position: sticky; top: 1rem; max-height: calc(100vh - 2rem); overflow-y: auto; }
    }
    @media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }

    """
}
