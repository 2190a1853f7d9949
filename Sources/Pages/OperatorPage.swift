// The operator's page at `/admin/`, with its style sheet and script.

/// The page at `/admin/`. It shows the state of a server and lets operators act on it, through the endpoints
/// below `/admin/`. The page itself contains no data.
public enum OperatorPage {
  /// The shared design and this page's own style: `/admin/operator.css`.
  public static let style = PageFile.design.text + PageFile.operatorsStyle.text
  /// The page's script, `/admin/operator.js`. It writes text nodes only, so no fetched text can become
  /// markup.
  public static let script = PageFile.operatorsScript.text

  /// The page, which names its style and its script.
  public static let html = PageFile.operators.text

  /// The style of the page that says how to switch the operator's page on.
  public static let offStyle = PageFile.design.text + PageFile.noticeStyle.text
  /// The page that says how to switch the operator's page on. It reveals nothing about this server except
  /// that the page is off on this port.
  public static let off = PageFile.operatorsOff.filled(["style": .markup("<style>\(offStyle)</style>")])
}
