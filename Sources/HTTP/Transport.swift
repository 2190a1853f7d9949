// The protocol for requests to other servers, with its requests, responses and errors.

/// A request from this process to another server.
public struct OutboundRequest: Sendable {
  /// Whether a pooled connection may carry the request, and the consequence if that connection dies without a
  /// response.
  public enum ConnectionReuse: Sendable {
    /// A pooled connection may carry the request. If the connection dies without a response, a GET or HEAD is
    /// sent once more; other requests are not.
    case allowed
    /// As `allowed`, but the request is sent once more whatever its method. For requests that only read (RFC
    /// 9110 §9.2.2).
    case allowedAndRepeatable
    /// The request has its own connection. For a request that must arrive at most once.
    case never
  }

  /// The method: `get`, `head`, `post`, `put`, `patch`, `delete` or `options`.
  public var method: Method
  /// The absolute URL, `https` or, to loopback only, `http`.
  public var url: String
  /// Fields to send. The transport adds `Host` and `Content-Length`.
  public var fields: Fields
  public var content: OutboundContent
  /// The time limit for everything: waiting for a slot, name resolution, connecting, TLS, sending and
  /// reading.
  public var timeout: Duration
  /// The time limit, from the call on, for the first byte of the request to leave. After that, nothing is
  /// sent, whatever delayed the request: a queue, a slow connection, or a process or machine that slept. Nil:
  /// only `timeout` applies.
  public var startWithin: Duration?
  /// The maximum size of the response's content, in bytes. A larger response fails as `responseTooLarge`.
  public var maximumContentLength: Int
  /// Whether a pooled connection may be used.
  public var reuse: ConnectionReuse
  /// Receives the content of a response with status 200 piece by piece, on the transport's thread, instead of
  /// in the response. For streams without an end. `maximumContentLength` does not apply then. The function
  /// must not block; false ends the transfer. Compressed content fails the request as `malformedResponse`,
  /// and `head` names the coding.
  public var onContent: (@Sendable ([UInt8]) -> Bool)?
  /// With `onContent`, the switch with which the reader pauses the content. The timeout keeps running.
  public var hold: ContentHold?

  public init(
    method: Method, url: String, fields: Fields = [:], content: [UInt8] = [],
    timeout: Duration, startWithin: Duration? = nil,
    maximumContentLength: Int = 256 * 1024, reuse: ConnectionReuse = .allowed
  ) {
    self.init(
      method: method, url: url, fields: fields, content: OutboundContent(content), timeout: timeout,
      startWithin: startWithin, maximumContentLength: maximumContentLength, reuse: reuse)
  }

  /// Makes a request whose content is shared.
  public init(
    method: Method, url: String, fields: Fields = [:], content: OutboundContent, timeout: Duration,
    startWithin: Duration? = nil, maximumContentLength: Int = 256 * 1024, reuse: ConnectionReuse = .allowed
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.content = content
    self.timeout = timeout
    self.startWithin = startWithin
    self.maximumContentLength = maximumContentLength
    self.reuse = reuse
  }
}

/// The other server's response.
public struct InboundResponse: Sendable {
  /// The status code, 200–599.
  public var status: Int
  /// The fields of the final response.
  public var fields: Fields
  /// The whole content; empty if `onContent` received it.
  public var content: [UInt8]
  /// How long each step took, if the transport measures it.
  public var timing: TransferTiming?

  public init(status: Int, fields: Fields, content: [UInt8]) {
    self.status = status
    self.fields = fields
    self.content = content
  }

  /// The content's coding, although each request accepts only `identity` (RFC 9110 §8.4); nil without one.
  /// Printable ASCII, at most 32 characters.
  public var contentCoding: String? {
    for value in fields.values(of: "Content-Encoding") {
      for coding in Array(value.utf8)[...].elements() where !coding.equals(lowercase: "identity") {
        let printable = coding.prefix(32).filter { (0x21...0x7E).contains($0) }
        if !printable.isEmpty { return String(decoding: printable, as: UTF8.self) }
      }
    }
    return nil
  }

  /// The reason why content with a coding cannot be read, for operators; nil without a coding.
  public var codingFault: String? {
    contentCoding.map {
      "the response is compressed (Content-Encoding: \($0)), and the server requested no compression"
    }
  }
}

/// How long the steps of one transfer took. Each is the step's own time, not the time since the start.
public struct TransferTiming: Hashable, Sendable {
  /// Finding the addresses of the host, or of the proxy. Near zero if they were known.
  public var nameResolution: Duration
  /// Making the TCP connection.
  public var connecting: Duration
  /// The TLS handshake; zero without one.
  public var handshake: Duration
  /// The time from the previous step to the first byte of the response: sending the request, and waiting for
  /// the server.
  public var firstByte: Duration

  public init(nameResolution: Duration, connecting: Duration, handshake: Duration, firstByte: Duration) {
    self.nameResolution = nameResolution
    self.connecting = connecting
    self.handshake = handshake
    self.firstByte = firstByte
  }
}

extension TransportError.Reason {
  /// The failure in words for operators, without a library's names and codes.
  /// - Parameter name: The host, or the reader's name for it.
  public func words(about name: String = "the host") -> String {
    switch self {
    case .invalidURL: "the URL is not valid"
    case .nameResolution: "\(name) has no address"
    case .connect: "\(name) cannot be reached"
    case .tls: "no TLS connection to \(name) could be made"
    case .timedOut: "\(name) did not respond in time"
    case .connectionLost: "\(name) closed the connection before its response was complete"
    case .malformedResponse: "the response of \(name) is not HTTP"
    case .responseTooLarge: "the response of \(name) is too large"
    case .cancelled: "the request was cancelled"
    case .overloaded: "too many requests are waiting for \(name)"
    }
  }
}

/// The reason why a request got no complete response.
public struct TransportError: Error, Sendable {
  /// The kind of failure.
  public enum Reason: String, Sendable {
    /// The URL is malformed or its scheme is not allowed.
    case invalidURL
    /// The name did not resolve.
    case nameResolution
    /// No connection could be made, or a proxy refused to make one.
    case connect
    /// The TLS handshake failed, certificate verification included.
    case tls
    /// `timeout` passed, or `startWithin` passed before a byte of the request was sent.
    case timedOut
    /// The connection ended or broke before the response was complete.
    case connectionLost
    /// The response was not HTTP, or its content was compressed although `onContent` was to receive it.
    case malformedResponse
    /// The response's content exceeded `maximumContentLength`, or `onContent` refused more.
    case responseTooLarge
    /// The task was canceled or the transport is shut down.
    case cancelled
    /// This process has more requests for the same destination than can end in time. It did not send this
    /// request.
    case overloaded
  }

  public var reason: Reason
  /// Whether any byte of the request may have reached the other side. False only if certainly none did.
  public var sent: Bool
  /// The failing layer's own words, for operators' logs. They contain no secret and no URL query.
  public var detail: String
  /// Status and fields of the final response, without its content, if they arrived completely before the
  /// failure. They tell whether the other server acted on the request.
  public var head: InboundResponse?
  /// The check that failed, if known. For diagnosis only.
  public var diagnosis: TransportDiagnosis?
  /// With `overloaded`, the time after which there is likely to be room.
  public var retryAfter: Duration?
  /// With `timedOut`, whether part of the time passed in this process's own queue. The other server is then
  /// not to blame for the timeout.
  public var isCurtailed = false

  public init(
    _ reason: Reason, sent: Bool, detail: String, head: InboundResponse? = nil,
    diagnosis: TransportDiagnosis? = nil, retryAfter: Duration? = nil
  ) {
    self.reason = reason
    self.sent = sent
    self.detail = detail
    self.head = head
    self.diagnosis = diagnosis
    self.retryAfter = retryAfter
  }
}

extension TransportError: CustomStringConvertible {
  /// The failure in words for operators.
  public var description: String { "\(reason.words()): \(detail)" }
}

/// Sends HTTP requests to other servers. All HTTP requests of this process go through this protocol, so the
/// code above it runs with any implementation.
public protocol HTTPTransport: Sendable {
  /// Sends a request and returns the whole response, whatever its status. Sends the request a second time
  /// only if `ConnectionReuse` says so. Redirects are not followed. Canceling the task cancels the transfer.
  func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse

  /// Sends a request like the other function, and calls `then` once with the result, so that thousands of
  /// requests can wait without a task each. The request cannot be canceled before its timeout.
  ///
  /// - Parameter then: Called on any thread, perhaps before this function returns. Must not block.
  func send(
    _ request: OutboundRequest, then: @escaping @Sendable (Result<InboundResponse, TransportError>) -> Void)
}

extension HTTPTransport {
  public func send(
    _ request: OutboundRequest, then: @escaping @Sendable (Result<InboundResponse, TransportError>) -> Void
  ) {
    Task {
      do throws(TransportError) {
        then(.success(try await send(request)))
      } catch {
        then(.failure(error))
      }
    }
  }
}
