// The audit line that strict mode writes before an action that can happen only once.

package import API
import Gate
import HTTP
package import HTTPServer
import JSON
import Platform
import Texts

/// An action about to happen: a request to Talkdesk or Sendbird, a push notification that lets a device fetch
/// a token, or a step that returns a secret or a code, spends a claim or approves an installation. The audit
/// line with the outcome comes after it.
package struct AuditIntent: Sendable {
  package let action: AuditedAction
  package let requestID: RequestID
  /// The id of the callback's or ticket's record; nil without one.
  package let callback: String?
  package let callerID: String?
  /// The `client_id` of the installation that the request concerns or that sent it.
  package var installation: String?
  package let app: String?
  /// The operator who sent the request.
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

  /// The intent of a request, from what its audit record contains so far.
  package init(_ record: AuditRecord) {
    self.init(record.action, record.requestID, callerID: record.caller?.id, app: record.app)
    installation = record.installation ?? record.caller?.installation
    by = record.by
  }

  /// The intent to place a call that a request ordered.
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
  /// Writes an intent and waits until it is on the disk. Outside strict mode, writes nothing and returns true
  /// at once.
  /// - Returns: Whether the action may proceed.
  package func intends(_ intent: AuditIntent) async -> Bool {
    guard isRequired else { return true }
    let lost = lostLines
    guard sink.append(lane: 0, { $0 += intent.line(at: clock.unixTime) }) else { return refused() }
    return await isRecorded(since: lost)
  }
}
