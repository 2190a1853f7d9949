// The style sheet that every page of the server and the sandbox uses.

/// The design of docs/design.md as CSS. A page adds its own layout, but no colour and no component.
public enum Stylesheet {
  /// Colours, type, spacing and components.
  public static let text = """
    :root {
      color-scheme: light dark;
      --paper: #f5f6f8; --card: #ffffff; --sunken: #eef0f4; --line: #d9dde4; --edge: #7a8495;
      --ink: #171c24; --soft: #515a68;
      --accent: #1d4fc4; --strong: #163e9c; --on-accent: #ffffff; --tint: #e8eefc;
      --good: #0b6635; --good-tint: #e1f4e8; --warn: #744700; --warn-tint: #fcf0d3;
      --bad: #a81c15; --bad-tint: #fdeae8; --veil: #10151ca6;
      --mono: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
      --round: .5rem; --tap: 2.5rem;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --paper: #0f1217; --card: #181c23; --sunken: #10141a; --line: #2c333e; --edge: #747f90;
        --ink: #e7eaef; --soft: #a5aebb;
        --accent: #8fb3ff; --strong: #b3ccff; --on-accent: #0b1a3a; --tint: #1b2846;
        --good: #7bd9a0; --good-tint: #15301f; --warn: #f0c674; --warn-tint: #33280f;
        --bad: #ff9f97; --bad-tint: #3a1917; --veil: #000000b3;
      }
    }
    @media (pointer: coarse) { :root { --tap: 2.75rem; } }

    *, ::before, ::after { box-sizing: border-box; }
    [hidden] { display: none !important; }
    html { scroll-padding-top: 1rem; }
    body {
      margin: 0 auto; max-width: 72rem; padding: 0 1rem 4rem; background: var(--paper); color: var(--ink);
      font: 1rem/1.5 system-ui, sans-serif;
    }
    h1, h2, h3, h4 { margin: 0; line-height: 1.3; overflow-wrap: anywhere; }
    h1 { font-size: 1.75rem; letter-spacing: -.02em; }
    h2 { font-size: 1.25rem; letter-spacing: -.01em; }
    h3 { margin-top: 1.5rem; font-size: 1rem; }
    h4 { margin-top: 1.25rem; font-size: .875rem; color: var(--soft); }
    p { margin: .5rem 0 .75rem; max-width: 44rem; }
    a { color: var(--accent); text-underline-offset: .15em; }
    a:hover { color: var(--strong); }
    small, .soft { font-size: .875rem; font-weight: 400; color: var(--soft); }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    .skip { position: absolute; left: -99rem; }
    .skip:focus { left: 1rem; top: 1rem; z-index: 1; padding: .5rem .75rem; background: var(--card); }
    .brand::before {
      content: ""; display: inline-block; width: .72em; height: .72em; margin-right: .35em;
      border: .2em solid var(--accent); border-right-color: transparent; border-radius: 50%;
    }

    .card {
      min-width: 0; padding: 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
    }
    .card > :last-child { margin-bottom: 0; }
    .stack { display: grid; gap: 1rem; min-width: 0; align-content: start; }
    .row { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: center; max-width: none; margin: .75rem 0; }
    form .row { margin-top: 1.25rem; }

    button, .button {
      display: inline-flex; align-items: center; justify-content: center; min-height: var(--tap); padding: .25rem 1rem;
      font: inherit; font-weight: 500; color: var(--ink); background: var(--card); text-decoration: none;
      border: 1px solid var(--edge); border-radius: var(--round); cursor: pointer;
    }
    button:hover, .button:hover { background: var(--sunken); color: var(--ink); }
    .primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
    .primary:hover { background: var(--strong); border-color: var(--strong); color: var(--on-accent); }
    .danger { border-color: var(--bad); color: var(--bad); }
    .danger:hover { background: var(--bad-tint); color: var(--bad); }
    .small { min-height: 2rem; padding: .125rem .75rem; font-size: .875rem; }
    button:disabled { background: var(--sunken); border-color: var(--line); color: var(--soft); cursor: not-allowed; }

    label, legend { display: block; margin-top: 1rem; font-weight: 600; }
    input, select, textarea {
      display: block; width: 100%; min-height: var(--tap); margin: .25rem 0; padding: .375rem .75rem;
      font: inherit; color: inherit; background: var(--card); border: 1px solid var(--edge); border-radius: var(--round);
    }
    input[type=checkbox], input[type=radio] {
      display: inline-block; width: 1.5rem; min-height: 0; height: 1.5rem; margin: 0 .5rem 0 0;
      vertical-align: middle; accent-color: var(--accent);
    }
    :user-invalid, [aria-invalid=true] { border-color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad); }
    form > small { display: block; }
    p.error { color: var(--bad); }

    .info { --mark: var(--accent); --ground: var(--tint); }
    .good { --mark: var(--good); --ground: var(--good-tint); }
    .warn { --mark: var(--warn); --ground: var(--warn-tint); }
    .bad { --mark: var(--bad); --ground: var(--bad-tint); }
    .badge {
      display: inline-block; padding: 0 .5rem; font-size: .8125rem; font-weight: 600; line-height: 1.5rem;
      white-space: nowrap; color: var(--mark, var(--soft)); background: var(--ground, var(--sunken));
      border: 1px solid var(--ground, var(--line)); border-radius: 1rem; letter-spacing: 0; vertical-align: middle;
    }
    .badge:empty { display: none; }
    .result { flex: 1 1 14rem; color: var(--mark); font-weight: 600; overflow-wrap: anywhere; }
    .result.good::before { content: "✓ "; }
    .result.bad::before { content: "✕ "; }
    .notice {
      max-width: none; margin: 1rem 0; padding: .75rem 1rem; background: var(--ground, var(--tint));
      border: 1px solid var(--mark, var(--accent)); border-radius: var(--round);
    }

    code, pre, .mono { font-family: var(--mono); font-size: .875em; overflow-wrap: anywhere; }
    pre {
      margin: .5rem 0; padding: .75rem; max-height: 24rem; overflow: auto; font-size: .8125rem; white-space: pre-wrap;
      background: var(--sunken); border: 1px solid var(--line); border-radius: var(--round);
    }
    .copy { display: flex; flex-wrap: wrap; gap: .5rem; align-items: start; margin-top: .5rem; }
    .copy pre { flex: 1 1 15rem; min-width: 0; margin: 0; }
    dl { display: grid; grid-template-columns: fit-content(45%) 1fr; gap: .25rem 1rem; margin: .5rem 0; }
    dt, .empty { color: var(--soft); }
    dd { margin: 0; overflow-wrap: anywhere; }
    td code, .log code, .log.mono { font-size: .8125rem; }
    .scroll {
      overflow-x: auto; background: linear-gradient(270deg, var(--card) 1rem, transparent 0) local,
      linear-gradient(270deg, var(--edge), transparent .25rem);
    }
    table { width: 100%; border-collapse: collapse; font-size: .875rem; }
    th, td { padding: .5rem .75rem .5rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
    th { font-weight: 600; color: var(--soft); white-space: nowrap; }
    :is(th, td):last-child { padding-right: 0; }
    tbody tr:last-child td { border-bottom: 0; }
    .number { text-align: right; font-variant-numeric: tabular-nums; }
    .log { margin: .5rem 0; padding: 0; list-style: none; font-size: .875rem; }
    .log li { padding: .5rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
    .log li:last-child { border-bottom: 0; }
    .log time { margin-right: .75rem; color: var(--soft); font-variant-numeric: tabular-nums; }
    summary { padding: .375rem 0; cursor: pointer; }
    progress { appearance: none; width: 100%; height: .5rem; border: 0; border-radius: 1rem; overflow: hidden; background: var(--line); }
    ::-webkit-progress-bar { background: var(--line); }
    ::-webkit-progress-value { background: var(--accent); }
    ::-moz-progress-bar { background: var(--accent); }

    [role=tablist] { display: flex; gap: .25rem; margin: .75rem 0; overflow-x: auto; border-bottom: 1px solid var(--line); }
    [role=tab] { background: none; border: 0; border-bottom: 3px solid transparent; border-radius: 0; color: var(--soft); }
    [role=tab][aria-selected=true] { border-color: var(--accent); color: var(--ink); }
    .steps { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; padding: 0; list-style: none; counter-reset: step; }
    .steps li { counter-increment: step; color: var(--soft); }
    .steps li::before {
      content: counter(step); display: inline-block; width: 1.75rem; margin-right: .5rem; line-height: 1.625rem;
      text-align: center; border: 1px solid var(--edge); border-radius: 50%;
    }
    .steps [aria-current] { color: var(--ink); font-weight: 600; }
    .steps [aria-current]::before { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
    dialog {
      width: 30rem; max-width: calc(100% - 2rem); padding: 1.5rem; color: inherit; background: var(--card);
      border: 1px solid var(--line); border-radius: .75rem; box-shadow: 0 1rem 3rem var(--veil);
    }
    dialog::backdrop { background: var(--veil); }
    dialog .row { justify-content: flex-end; margin-top: 1.5rem; }

    """
}
