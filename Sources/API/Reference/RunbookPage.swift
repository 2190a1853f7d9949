// The runbook as a web page.

import HTTP
package import Pages

/// The page at `/docs/runbook`, generated from docs/operate/runbook.md. It needs no script and no other file,
/// so both listeners serve it.
package enum RunbookPage {
  /// The page's path on this server.
  package static let path = "/docs/runbook"

  package static let document = FixedDocument(
    fields: HTMLText.pageFields(style: style),
    content: Array(
      PageFile.runbook.filled([
        "style": .markup("<style>\(style)</style>"), "content": .markup(PageFile.runbookContent.text),
      ]).utf8))

  private static let style = PageFile.design.text + PageFile.runbookStyle.text
}
