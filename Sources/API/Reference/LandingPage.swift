// The page that a browser shows at the server's root address.

import HTTP
package import Pages

/// The landing page: one paragraph on what this server does.
package enum LandingPage {
  package static let document = FixedDocument(
    fields: HTMLText.pageFields(style: style),
    content: Array(PageFile.landing.filled(["style": .markup("<style>\(style)</style>")]).utf8))

  private static let style = PageFile.design.text + PageFile.noticeStyle.text
}
