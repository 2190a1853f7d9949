// The line before a call, a ticket or a session token is requested, in strict mode.

package import API
import HTTP
package import HTTPServer
import JSON
import Platform
import Texts

/// What is about to be requested from Talkdesk or Sendbird. The audit line with the outcome comes after it.
package struct AuditIntent: Sendable {
  package let action: AuditedAction
  package let requestID: RequestID
  /// The id of the record; nil for a token.
  package let callback: String?
  package let callerID: String?
  package let app: String?

  package init(
    _ action: AuditedAction, _ requestID: RequestID, callback: String? = nil, callerID: String?, app: String?
  ) {
    self.action = action
    self.requestID = requestID
    self.callback = callback
    self.callerID = callerID
    self.app = app
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
    let texts = [("caller", callerID), ("app", app), (action == .ticket ? "ticket" : "callback", callback)]
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
  /// - Returns: Whether the request may be sent.
  package func intends(_ intent: AuditIntent) async -> Bool {
    guard isRequired else { return true }
    let lost = lostLines
    guard sink.append(lane: 0, { $0 += intent.line(at: clock.unixTime) }) else { return refused() }
    return await isRecorded(since: lost)
  }
}
