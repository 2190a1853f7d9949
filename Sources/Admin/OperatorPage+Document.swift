// The operator's page as a response.

import API
import HTTP
import Pages

extension OperatorPage {
  /// The page of a listener whose data needs the admin token, and that of one on loopback that needs none.
  static let guarded = document(needsToken: true)
  static let open = document(needsToken: false)

  /// The page that says how to switch the operator's page on.
  static let switchedOff: PreparedResponse = {
    var fields = HTMLText.pageFields(style: offStyle)
    fields.append("Cache-Control", "no-store")
    return PreparedResponse(
      Response(status: .notFound, fields: fields, content: Array(off.utf8)), isShared: true)
  }()

  /// The policy admits the page's own style and script by their digests, and requests to its own origin.
  private static func document(needsToken: Bool) -> FixedDocument {
    FixedDocument(
      fields: HTMLText.pageFields(style: style, script: script),
      content: Array(html(needsToken: needsToken).utf8))
  }
}
