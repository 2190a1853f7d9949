// The HTML, CSS and JavaScript of the pages, which are files in Sources/Pages/Files.

import CPages

/// A file of a page, or several files of one kind joined together. `CPages` embeds them at build time.
public struct PageFile: Sendable {
  public let octets: [UInt8]

  /// The content as text. All files are UTF-8.
  public var text: String { String(decoding: octets, as: UTF8.self) }

  private init(_ file: callgate_page_file) {
    // The octets are a constant of the program, and `count` is the array's size.
    octets = unsafe Array(UnsafeBufferPointer(start: file.octets, count: file.count))
  }

  /// The design of Sources/Pages/README.md as CSS: colors, type, spacing and components. A page adds its own
  /// layout, but no color and no component.
  public static let design = unsafe PageFile(callgate_design_css)
  /// The layout of a page with one message in its middle.
  public static let noticeStyle = unsafe PageFile(callgate_notice_css)
  public static let landing = unsafe PageFile(callgate_landing_html)

  public static let demo = unsafe PageFile(callgate_demo_html)
  public static let demoStyle = unsafe PageFile(callgate_demo_css)
  public static let demoScript = unsafe PageFile(callgate_demo_js)

  public static let docs = unsafe PageFile(callgate_docs_html)
  public static let docsStyle = unsafe PageFile(callgate_docs_css)
  public static let docsScript = unsafe PageFile(callgate_docs_js)

  public static let runbook = unsafe PageFile(callgate_runbook_html)
  public static let runbookStyle = unsafe PageFile(callgate_runbook_css)
  /// The HTML of docs/operate/runbook.md, which `script/runbook` generates.
  public static let runbookContent = unsafe PageFile(callgate_runbook_content_html)

  public static let operators = unsafe PageFile(callgate_operator_html)
  public static let operatorsStyle = unsafe PageFile(callgate_operator_css)
  public static let operatorsScript = unsafe PageFile(callgate_operator_js)
  /// The page at `/admin/` of a server without an admin token. It only says how to switch the operator's page
  /// on.
  public static let operatorsOff = unsafe PageFile(callgate_operator_off_html)
}
