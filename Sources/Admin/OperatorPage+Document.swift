// The operator's page and its files as responses.

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

  /// The files of both pages.
  static let styleFile = FixedDocument.file("text/css", Array(style.utf8))
  static let scriptFile = FixedDocument.file("text/javascript", Array(script.utf8))

  private static func document(needsToken: Bool) -> FixedDocument {
    FixedDocument(
      fields: HTMLText.pageFields(asksServer: true), content: Array(html(needsToken: needsToken).utf8))
  }
}
