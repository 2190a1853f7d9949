// How another interface asks for a callback, and reads what came of it.

package import API
package import Callbacks
package import Gate
package import HTTP
package import Notices
package import Store

/// The form of another interface's requests for callbacks.
package struct CallForm: Sendable {
  /// Why content is refused.
  package typealias Refusal = Problem

  /// The device that a request names for the notices of its callback.
  package enum Device: Sendable {
    case none
    case token(DeviceAddress)
    /// One that this server does not know. Nothing is sent to it.
    case unusable
  }

  /// A callback that was accepted or booked.
  package struct Created: Sendable {
    package let id: CallbackID
    /// The time of an appointment.
    package let at: Instant?
    package let createdAt: Instant
    /// The record that an earlier request with the same key made; nil where this request made one.
    package let earlier: StoredCallback?
    /// What the client asked for.
    package let request: CallbackRequest
  }

  /// The form of problems.
  package let responses: ResponseForm
  /// The app of the request.
  package let app: Request.QueryItem
  /// The request's content as one of this server's own, and its device.
  package let content: @Sendable (borrowing Request) throws(Refusal) -> (content: [UInt8], device: Device)
  /// The name of the record to be in that interface; nil where it has no names of its own.
  package let alias: @Sendable (CallbackIntent) -> CallbackAlias?
  /// The response to a success; nil where that interface does not know the record of an earlier request.
  package let success: @Sendable (Created) -> Response?
  /// What an AI agent's request is the same by; nil for clients with an `Idempotency-Key`.
  package let agent: AgentCall?

  package init(
    _ responses: ResponseForm, app: Request.QueryItem,
    content: @escaping @Sendable (borrowing Request) throws(Refusal) -> (content: [UInt8], device: Device),
    alias: @escaping @Sendable (CallbackIntent) -> CallbackAlias?,
    success: @escaping @Sendable (Created) -> Response?, agent: AgentCall? = nil
  ) {
    self.responses = responses
    self.app = app
    self.content = content
    self.alias = alias
    self.success = success
    self.agent = agent
  }

  /// A request's content as one of this server's own, and its device; or why it is refused.
  func read(_ request: borrowing Request) -> Result<(content: [UInt8], device: Device), Problem> {
    do throws(Problem) { return .success(try content(request)) } catch { return .failure(error) }
  }
}
