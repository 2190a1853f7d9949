// The operator's page and its files as responses.

import API
import HTTP
import Pages

extension OperatorPage {
  /// The operator's page. Its script requests the data from the server.
  static let page = FixedDocument(fields: HTMLText.pageFields(asksServer: true), content: Array(html.utf8))

  /// The page that says how to switch the operator's page on.
  static let switchedOff: PreparedResponse = {
    var fields = HTMLText.pageFields(style: offStyle)
    fields.append("Cache-Control", "no-store")
    return PreparedResponse(
      Response(status: .notFound, fields: fields, content: Array(off.utf8)), isShared: true)
  }()

  static let styleFile = FixedDocument.file("text/css", Array(style.utf8))
  static let scriptFile = FixedDocument.file("text/javascript", Array(script.utf8))
}
