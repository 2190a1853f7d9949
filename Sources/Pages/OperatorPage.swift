// The operator's page: its style, its script, and the whole.

/// The page at `/admin/`: it shows how a server does, and acts on it, by the endpoints below `/admin/`. It holds no data itself.
public enum OperatorPage {
  /// The design, and what is this page's own: `/admin/operator.css`.
  public static let style = PageFile.design.text + PageFile.operatorsStyle.text
  /// The page's script, `/admin/operator.js`. It writes text nodes only, so no fetched text can become markup.
  public static let script = PageFile.operatorsScript.text

  /// The page, which names its style and its script.
  public static let html = PageFile.operators.text

  /// The style of the page that says how to switch the operator's page on.
  public static let offStyle = PageFile.design.text + PageFile.noticeStyle.text
  /// How to switch the operator's page on. It tells nothing about this server but that the page is off on this port.
  public static let off = PageFile.operatorsOff.filled(["style": .markup("<style>\(offStyle)</style>")])
}
