// The adapter between another API (GMS, MCP) and callbacks: converts requests, and writes responses.

package import API
package import Callbacks
package import Gate
package import HTTP
package import Notices
package import Store

/// The form of another API's requests for callbacks.
package struct CallForm: Sendable {
  /// The problem that refuses the content.
  package typealias Refusal = Problem

  /// The device that a request names for the push notifications of its callback.
  package enum Device: Sendable {
    case none
    case token(DeviceAddress)
    /// A device with an unknown system or an invalid address. Nothing is sent to it.
    case unusable
  }

  /// A callback that was accepted or booked.
  package struct Created: Sendable {
    package let id: CallbackID
    /// The time of an appointment; nil for an immediate callback.
    package let at: Instant?
    package let createdAt: Instant
    /// The record that an earlier request with the same key made; nil if this request made one.
    package let earlier: StoredCallback?
    /// The content that the client sent.
    package let request: CallbackRequest
  }

  /// The form of problems.
  package let responses: ResponseForm
  /// The app of the request.
  package let app: Request.QueryItem
  /// Converts the request's content to this server's own form, and reads its device.
  package let content: @Sendable (borrowing Request) throws(Refusal) -> (content: [UInt8], device: Device)
  /// The name that the record will have in that API; nil if the API has no names of its own.
  package let alias: @Sendable (CallbackIntent) -> CallbackAlias?
  /// The response to a success; nil if the record of an earlier request does not belong to that API.
  package let success: @Sendable (Created) -> Response?
  /// The values by which an AI agent's repeated request is recognized; nil for clients with an
  /// `Idempotency-Key`.
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

  /// The content in this server's own form and the device, or the problem with them.
  func read(_ request: borrowing Request) -> Result<(content: [UInt8], device: Device), Problem> {
    do throws(Problem) { return .success(try content(request)) } catch { return .failure(error) }
  }
}
