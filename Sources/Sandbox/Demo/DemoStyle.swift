// The style sheet of the demo page.

extension DemoClient {
  /// The page's style: light and dark, readable at any width.
  static let style = """
    :root {
      color-scheme: light dark;
      --ink: #1b2430; --soft: #53606f; --paper: #f5f6f8; --card: #ffffff; --line: #d5dae1;
      --accent: #5b2ee0; --on-accent: #ffffff; --good: #0b6b3a; --bad: #b3261e;
      --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --ink: #e9edf2; --soft: #a9b4c2; --paper: #12161c; --card: #1b2129; --line: #353f4c;
        --accent: #b7a2ff; --on-accent: #1a1130; --good: #6fdca0; --bad: #ff9d94;
      }
    }
    * { box-sizing: border-box; }
    [hidden] { display: none; }
    body {
      margin: 0; background: var(--paper); color: var(--ink);
      font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
    }
    header, main { max-width: 66rem; margin: 0 auto; padding: 0 1rem; }
    header { padding-top: 2rem; }
    h1 { margin: 0; font-size: 1.9rem; letter-spacing: -0.02em; }
    h1 span { color: var(--accent); }
    a { color: var(--accent); }
    header p { color: var(--soft); max-width: 46rem; margin: .4rem 0 1.2rem; }
    main {
      display: grid; gap: 1rem; padding-bottom: 3rem;
      grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr));
    }
    section {
      background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
      padding: 1.1rem 1.25rem; min-width: 0;
    }
    h2 { margin: 0 0 .3rem; font-size: 1.2rem; }
    h3 { margin: 1rem 0 .3rem; font-size: .95rem; color: var(--soft); }
    p { margin: .3rem 0 .8rem; }
    code, pre, dd, td { font-family: var(--mono); font-size: .86rem; }
    pre {
      margin: 0; padding: .6rem .7rem; background: var(--paper); border: 1px solid var(--line);
      border-radius: .5rem; white-space: pre-wrap; overflow-wrap: anywhere;
    }
    .copy { display: flex; gap: .5rem; align-items: start; }
    .copy pre { flex: 1; min-width: 0; }
    .last { margin-top: 1.1rem; }
    .row { display: flex; gap: .6rem; align-items: center; flex-wrap: wrap; }
    button, input {
      font: inherit; color: inherit; background: var(--card); border: 1px solid var(--soft);
      border-radius: .5rem; padding: .45rem .8rem;
    }
    button { cursor: pointer; }
    button:hover { border-color: var(--accent); }
    button.primary {
      background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600;
    }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    label { display: block; font-weight: 600; margin-top: .7rem; }
    input { width: 100%; background: var(--paper); }
    input:invalid { border-color: var(--bad); }
    small { color: var(--soft); }
    form .row { margin-top: .9rem; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .9rem; margin: 0; }
    dt { color: var(--soft); }
    dd { margin: 0; overflow-wrap: anywhere; }
    details { margin-top: .6rem; }
    summary { cursor: pointer; }
    progress { width: 100%; height: .6rem; accent-color: var(--accent); }
    .countdown { margin: .4rem 0 0; }
    .countdown strong { font-size: 1.5rem; font-variant-numeric: tabular-nums; }
    .good { color: var(--good); font-weight: 600; }
    .bad { color: var(--bad); font-weight: 600; }
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; }
    th, td {
      text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line);
      vertical-align: top; white-space: nowrap;
    }
    th { font-size: .82rem; color: var(--soft); }
    .plain { list-style: none; padding: 0; margin: 0; }
    #call-record, #rings li { font-family: var(--mono); font-size: .86rem; overflow-wrap: anywhere; }
    .plain li { font-family: var(--mono); font-size: .84rem; overflow-wrap: anywhere; }
    .notice { grid-column: 1 / -1; }
    .skip { position: absolute; left: -99rem; }
    .skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem; }

    """
}
