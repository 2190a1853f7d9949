// The line before something that can be done only once, in strict mode.

package import API
import Gate
import HTTP
package import HTTPServer
import JSON
import Platform
import Texts

/// What is about to be done: a request to Talkdesk or Sendbird, or a step in the store that gives a secret, spends a claim or
/// approves an installation. The audit line with the outcome comes after it.
package struct AuditIntent: Sendable {
  package let action: AuditedAction
  package let requestID: RequestID
  /// The id of the record; nil where there is none.
  package let callback: String?
  package let callerID: String?
  /// The `client_id` of the installation that it is about, or that asks.
  package var installation: String?
  package let app: String?
  /// The operator who asks for it.
  private var by: Operator.Identity?

  package init(
    _ action: AuditedAction, _ requestID: RequestID, callback: String? = nil, callerID: String?, app: String?
  ) {
    self.action = action
    self.requestID = requestID
    self.callback = callback
    self.callerID = callerID
    self.app = app
  }

  /// What a request is about to do, as far as its audit line says already.
  package init(_ record: AuditRecord) {
    self.init(record.action, record.requestID, callerID: record.caller?.id, app: record.app)
    installation = record.installation ?? record.caller?.installation
    by = record.by
  }

  /// A call that a request has ordered.
  package init(callOf context: RequestContext, callback: String, callerID: String?, app: String?) {
    self.init(.callback, context.requestID, callback: callback, callerID: callerID, app: app)
  }

  func line(at time: UnixTime) -> [UInt8] {
    var line = Array(#"{"log":"intent","time":""#.utf8)
    time.appendRFC3339(to: &line)
    line.append(contentsOf: #"","request_id":""#.utf8)
    line.append(upTo: RequestID.mostOctets) { requestID.append(to: &$0) }
    line.append(contentsOf: #"","action":"\#(action.rawValue)""#.utf8)
    let texts = [
      ("caller", callerID), ("installation", installation), ("app", app),
      (action == .ticket ? "ticket" : "callback", callback), ("operator", by?.name), ("by", by?.by.rawValue),
    ]
    for (name, text) in texts {
      guard let text else { continue }
      line.append(contentsOf: #","\#(name)":"#.utf8)
      JSONText.append(text, to: &line)
    }
    line.append(contentsOf: "}\n".utf8)
    return line
  }
}

extension AuditTrail {
  /// Writes an intent, and waits until it is on the disk. Without strict mode there is none, and no wait.
  /// - Returns: Whether it may be done.
  package func intends(_ intent: AuditIntent) async -> Bool {
    guard isRequired else { return true }
    let lost = lostLines
    guard sink.append(lane: 0, { $0 += intent.line(at: clock.unixTime) }) else { return refused() }
    return await isRecorded(since: lost)
  }
}
