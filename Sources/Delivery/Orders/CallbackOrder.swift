// The order to make one callback, and its result.

package import API
package import Gate
import HTTP
import HTTPServer
package import Platform
package import Records
package import Store

/// A callback that may be made, with all that making it needs.
///
/// A class, like everything else a waiting callback holds: thousands may wait for Talkdesk, and each function between would
/// keep a copy of a struct.
package final class CallbackOrder: Sendable {
  /// What was taken for it, to give back should nothing come of it.
  let receipts: [AllowanceReceipt]
  /// Its record to be, and its key.
  package let intent: CallbackIntent
  /// What Talkdesk is sent.
  let content: OutboundContent
  /// When the answer has to be there.
  let deadline: MonotonicTime
  /// The request it came with.
  let context: RequestContext

  var requestID: RequestID { context.requestID }
  /// The caller's trace, continued by another span each time it is asked for.
  var traceparent: String? { context.trace?.child().traceparent }
  /// Whose it is.
  var party: Originator.Party { Originator.Party(intent) }

  /// An order, which nobody can give without leave for it.
  package init(
    _ grant: Grant, intent: CallbackIntent, content: [UInt8], deadline: MonotonicTime,
    context: RequestContext
  ) {
    precondition(grant.action == .callback && grant.phone == intent.contact)
    receipts = grant.receipts
    self.intent = intent
    self.content = OutboundContent(content)
    self.deadline = deadline
    self.context = context
  }

  /// This callback, or an earlier one, stands at the number: whoever waits for it is told.
  func stands(_ standing: CallbackID, _ numbers: NumbersInHand) {
    numbers.stands(standing, at: NumbersInHand.Name(intent), for: intent.id)
  }
}

/// What came of an order.
package final class OriginationResult: Sendable {
  /// What the caller is told.
  package enum Outcome: Sendable {
    /// Talkdesk took it: what the caller and its repetitions are told.
    case accepted(CallbackID, content: [UInt8])
    /// It was not made, or nobody can say.
    case refused(Problem)
    /// An earlier request with its key has been answered already.
    case replay(StoredCallback, StoredAnswer?)
  }

  package let outcome: Outcome
  /// Where the token came from; `none` where none was needed.
  package let cache: AuditRecord.CacheUse
  /// The status Talkdesk answered with last.
  package let upstreamStatus: Int?

  init(_ outcome: Outcome, cache: AuditRecord.CacheUse = .none, upstreamStatus: Int? = nil) {
    self.outcome = outcome
    self.cache = cache
    self.upstreamStatus = upstreamStatus
  }
}
