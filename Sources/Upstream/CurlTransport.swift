// Sends HTTP requests with libcurl over pooled, fully verified TLS connections.

import Dispatch
import Glibc
public import HTTP
import Platform

/// `HTTPTransport` made with libcurl: HTTP/1.1 over pooled, verified TLS connections, or HTTP/2 over one
/// connection to each host (`Multiplexing`).
///
/// - A request's `timeout` covers everything from the call of `send`: waiting for a slot, name resolution,
///   connecting, TLS, sending, receiving. `send` returns by then whatever the network or the resolver does.
/// - A request's `startWithin` is enforced even if the process was stopped or the machine slept: see
///   `CurlEasy.begin`.
/// - `https` only, and `http` to loopback. TLS 1.2 at least. Certificate and host name are checked, except
///   with `pinnedKey`, or on this machine if `verifiesLoopback` is false.
/// - No redirects, cookies, `.netrc`, content decoding, `Expect`; a POST is not repeated unless the request
///   allows it.
/// - A request that would have to wait is refused as `overloaded`, and never sent, if too many wait already
///   or if it cannot end in time.
/// - An error's `sent` is false only before the first octet could have been written.
///
/// Each transport has its own thread. `shutdown` ends the thread. Releasing a transport without `shutdown`
/// ends it too, later.
public final class CurlTransport: HTTPTransport {
  private let routes: TransferRoutes
  private let inbox: TransferInbox

  /// Starts a transport and its thread.
  ///
  /// - Throws: `TransportSetupError` if the file of trusted certificates cannot be read, a proxy variable is
  ///   malformed or libcurl cannot start.
  public convenience init(_ settings: TransportSettings = TransportSettings()) throws(TransportSetupError) {
    try self.init(settings, names: NameCache(), lookUp: NameLookup.start)
  }

  /// Starts a transport with a given function that looks up names, and a given cache of their addresses.
  init(
    _ settings: TransportSettings, names: NameCache, lookUp: @escaping NameLookup.Function
  ) throws(TransportSetupError) {
    if case .file(let path) = settings.authorities, access(path, R_OK) != 0 {
      throw .unreadableCAFile(path: path, SystemError(operation: "access", code: errno))
    }
    var settings = settings
    do throws(ProxySettings.Malformed) {
      if settings.proxies == nil { settings.proxies = try ProxySettings.environment() }
    } catch {
      throw .proxy(error)
    }
    var file: AuthorityFile?
    if case .pem(let bytes) = settings.authorities, let made = AuthorityFile(bytes) {
      file = made
      settings.authorities = .file(made.path)
    }
    try CurlLibrary.start()
    let multi = try CurlMulti(
      pooledConnections: settings.pooledConnections, streams: settings.multiplexing?.streams)
    let inbox = TransferInbox(waker: multi.waker)
    // The thread takes the handle over; nothing here keeps it.
    nonisolated(unsafe) let handedOver = multi
    DispatchQueue(label: "callgate.upstream").async { [settings, file] in
      let thread = TransferThread(
        settings: settings, multi: handedOver, inbox: inbox, names: names, lookUp: lookUp)
      withExtendedLifetime(file) { thread.run() }
      inbox.finish()
    }
    routes = TransferRoutes(settings)
    self.inbox = inbox
  }

  deinit { inbox.stop() }

  public func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
    let ticket = Ticket(request, now: SystemClock().now)
    let plan = try TransferPlan(request, routes)
    let result: Result<InboundResponse, TransportError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        submit(TransferInbox.Submission(ticket: ticket, plan: plan) { continuation.resume(returning: $0) })
      }
    } onCancel: {
      ticket.cancel()
      inbox.cancel(ticket)
    }
    return try result.get()
  }

  public func send(
    _ request: OutboundRequest, then: @escaping @Sendable (Result<InboundResponse, TransportError>) -> Void
  ) {
    let ticket = Ticket(request, now: SystemClock().now)
    do throws(TransportError) {
      submit(TransferInbox.Submission(ticket: ticket, plan: try TransferPlan(request, routes), answer: then))
    } catch {
      then(.failure(error))
    }
  }

  private func submit(_ submission: TransferInbox.Submission) {
    submission.plan.hold?.onRelease { [inbox, ticket = submission.ticket] in inbox.resume(ticket) }
    guard !inbox.submit(submission) else { return }
    submission.answer(
      .failure(TransportError(.cancelled, sent: false, detail: "the transport is shut down")))
  }

  /// Cancels running transfers, refuses new ones, and returns when the thread has ended and every connection
  /// is closed.
  public func shutdown() async {
    inbox.stop()
    await inbox.finished()
  }
}
