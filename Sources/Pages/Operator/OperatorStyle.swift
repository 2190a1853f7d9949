// The style sheet of the operator's page.

extension OperatorPage {
  /// The design, and what is this page's own.
  public static let style = Stylesheet.text + layout

  /// One column on a phone; on a desktop two for what stands in `columns`.
  static let layout = """
    header { justify-content: space-between; padding: 1.5rem 0 .75rem; margin: 0; }
    header .row { margin: 0; }
    header .badge { margin-left: .25rem; }
    #login { max-width: 32rem; }
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 1rem; margin: 1rem 0 0; }
    .tiles > div { min-width: 0; }
    .tiles dt { font-size: .875rem; }
    .tiles dd { font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; }
    .tiles small { display: block; font-variant-numeric: tabular-nums; }
    #plot { display: block; width: 100%; height: 9rem; margin-top: 1rem; }
    #plot line { stroke: var(--line); vector-effect: non-scaling-stroke; }
    #plot [data-decision=allow] { fill: var(--good); }
    #plot [data-decision=deny] { fill: var(--warn); }
    #plot [data-decision=error] { fill: var(--bad); }
    .axis { display: flex; justify-content: space-between; margin: .25rem 0 0; max-width: none; }
    .number { white-space: nowrap; }
    .axis, td { font-variant-numeric: tabular-nums; }
    #decisions td { white-space: nowrap; }
    #decisions.only-refusals [data-decision=allow] { display: none; }
    #decision-scroll { max-height: 32rem; overflow: auto; }
    #brakes li { margin: .5rem 0; }
    ul.plain { margin: .5rem 0; padding: 0; list-style: none; font-size: .875rem; }
    ul.plain li { padding: .5rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
    ul.plain li:last-child { border-bottom: 0; }
    ul.plain .row { margin: .25rem 0 0; }
    .check { display: flex; align-items: center; margin: .5rem 0; font-weight: 400; }
    .columns { display: grid; gap: 1rem; min-width: 0; }
    @media (min-width: 60rem) { .columns { grid-template-columns: 1fr 1fr; } }

    """
}
