// Owns a libcurl easy handle: one transfer from its options to its result.

import CCurl
import HTTP
import Platform

/// One easy handle: one transfer from its options to its outcome.
///
/// Rules: made by `curl_easy_init`, freed by `curl_easy_cleanup` in `deinit`, and by then removed from its
/// multi handle. Made, used and freed on the transfer thread alone. libcurl copies strings, but keeps the
/// field and address lists, the content, the error buffer and the callbacks' context, which is `self`,
/// unretained: the multi handle holds `self` while libcurl may call back, and `deinit` frees the handle
/// before what it points to.
final class CurlEasy {
  /// Addresses for a host and port, which keep libcurl from resolving names itself.
  struct Resolution {
    let host: String
    let port: UInt16
    let addresses: [IPAddress]
  }

  /// The identity and the times of the transfer.
  private let ticket: Ticket
  let handle: UnsafeMutableRawPointer
  private var collector: ResponseCollector
  private var fault: ResponseCollector.Fault?
  /// The time that it took to resolve the names whose addresses libcurl was given.
  private let resolutionTime: Duration
  /// The number of times that libcurl was about to send the request.
  private var beginnings = 0
  private let mayRepeat: Bool
  private let hold: ContentHold?
  /// The route of the request. libcurl reads its field lines.
  private let route: TransferRoute
  /// The shared TLS sessions that libcurl reads and writes. Stored here so that they outlive the handle.
  private let share: CurlShare
  /// The content of the request. Stored here because libcurl sends it without copying it.
  private let content: OutboundContent
  /// The buffer for libcurl's error message.
  private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var addressList: UnsafeMutablePointer<curl_slist>?

  init(
    ticket: Ticket, plan: TransferPlan, settings: TransportSettings, share: CurlShare,
    resolutions: [Resolution], resolvedIn resolutionTime: Duration, connectMilliseconds: Int
  ) throws(TransportError) {
    guard let handle = curl_easy_init() else {
      throw TransportError(.connect, sent: false, detail: "curl_easy_init failed")
    }
    self.ticket = ticket
    self.handle = handle
    self.resolutionTime = resolutionTime
    collector = ResponseCollector(
      maximumHeaderLength: settings.maximumHeaderLength,
      // In a response to HEAD, Content-Length is the length of content that is not sent.
      maximumContentLength: plan.method == .head ? .max : plan.maximumContentLength,
      mayBeHTTP2: settings.multiplexing != nil, onContent: plan.onContent)
    mayRepeat = plan.mayRepeat
    hold = plan.hold
    route = plan.route
    self.share = share
    content = plan.content
    words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))

    let options = CurlOptions(handle)
    options.set(share)
    options.setPolicy(settings, plan.route.target, plan.route.proxy)
    options.setRequest(plan)
    options.set(CURLOPT_CONNECTTIMEOUT_MS, connectMilliseconds)
    options.set(CURLOPT_HTTPHEADER, plan.route.fields.head)
    for resolution in resolutions { addressList = curl_slist_append(addressList, resolution.line) }
    options.set(CURLOPT_RESOLVE, addressList)
    options.set(CURLOPT_ERRORBUFFER, words)
    setCallbacks(options)
    guard options.failure == nil else {
      throw TransportError(
        .connect, sent: false, detail: "libcurl refused an option: \(options.failure ?? "")")
    }
  }

  deinit {
    curl_easy_cleanup(handle)
    curl_slist_free_all(addressList)
    words.deallocate()
  }

  /// The transfer's identity.
  var id: ObjectIdentifier { ticket.id }

  /// Whether an octet of the request may have left this machine. False until libcurl has a connection, TLS
  /// included, and is about to write.
  var mayHaveSent: Bool { beginnings > 0 }

  /// Whether the time to start has passed and nothing was sent.
  private var isLate: Bool { !mayHaveSent && SystemClock().now >= ticket.startBy }

  /// Status and fields of the final response, once all of them have arrived.
  var head: InboundResponse? { collector.head.map(timed) }

  /// The step that the transfer has reached, for the message about a timeout.
  var phase: String {
    if collector.hasBegun { return "while reading the response" }
    if mayHaveSent { return "while waiting for the response" }
    return isConnected ? "during the TLS handshake" : "while connecting"
  }

  /// Resumes the content that the reader has paused. libcurl delivers the waiting content at once.
  ///
  /// - Returns: The outcome if the reader refuses that content; nil if the transfer continues.
  func resume() -> Result<InboundResponse, TransportError>? {
    let code = callgate_easy_resume(handle)
    return code == CURLE_OK ? nil : outcome(code)
  }

  /// The outcome of a transfer that libcurl ended.
  func outcome(_ code: CURLcode) -> Result<InboundResponse, TransportError> {
    // Either libcurl's own timer or `begin` may be the first to notice.
    if isLate, code == CURLE_OPERATION_TIMEDOUT || code == CURLE_ABORTED_BY_CALLBACK {
      return .failure(
        TransportError(
          .timedOut, sent: false, detail: "the time to start passed \(phase)", diagnosis: timeoutDiagnosis))
    }
    do throws(ResponseCollector.Fault) {
      if let fault { throw fault }
      guard code != CURLE_OK else { return .success(timed(try collector.finish())) }
    } catch {
      switch error {
      case .tooLarge(let detail): return failure(.responseTooLarge, detail)
      case .malformed(let detail): return failure(.malformedResponse, detail)
      case .incomplete(let detail): return failure(.connectionLost, detail)
      }
    }
    let reason = CurlFailure.reason(code, sent: mayHaveSent, connected: isConnected)
    return .failure(
      TransportError(
        reason, sent: mayHaveSent, detail: "\(errorText(code)) (curl \(code.rawValue))", head: head,
        diagnosis: CurlDiagnosis.diagnosis(evidence(code))))
  }

  private func failure(_ reason: TransportError.Reason, _ detail: String) -> Result<
    InboundResponse, TransportError
  > {
    .failure(TransportError(reason, sent: mayHaveSent, detail: detail, head: head))
  }

  /// A response with libcurl's measurements, which are microseconds since libcurl got the transfer.
  private func timed(_ response: InboundResponse) -> InboundResponse {
    let lookup = microseconds(CURLINFO_NAMELOOKUP_TIME_T)
    let connected = max(lookup, microseconds(CURLINFO_CONNECT_TIME_T))
    let ready = max(connected, microseconds(CURLINFO_PRETRANSFER_TIME_T))
    var response = response
    response.timing = TransferTiming(
      nameResolution: resolutionTime + .microseconds(lookup), connecting: .microseconds(connected - lookup),
      handshake: .microseconds(max(connected, microseconds(CURLINFO_APPCONNECT_TIME_T)) - connected),
      firstByte: .microseconds(max(ready, microseconds(CURLINFO_STARTTRANSFER_TIME_T)) - ready))
    return response
  }

  private func microseconds(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    return callgate_easy_get_offset(handle, info, &value) == CURLE_OK ? Int64(value) : 0
  }

  /// The values that libcurl reports for a failed transfer.
  private func evidence(_ code: CURLcode) -> CurlDiagnosis.Evidence {
    CurlDiagnosis.Evidence(
      code: code, sent: mayHaveSent, connected: number(CURLINFO_LOCAL_PORT) > 0, proxied: route.proxy != nil,
      proxySpeaksTLS: route.proxy?.kind == .https,
      systemError: Int32(truncatingIfNeeded: number(CURLINFO_OS_ERRNO)),
      verification: number(CURLINFO_SSL_VERIFYRESULT),
      proxyVerification: number(CURLINFO_PROXY_SSL_VERIFYRESULT),
      tunnelStatus: number(CURLINFO_HTTP_CONNECTCODE))
  }

  /// A number that libcurl reports. A missing value counts as zero, as in libcurl.
  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    return callgate_easy_get_long(handle, info, &value) == CURLE_OK ? value : 0
  }

  /// The step that was missing when the transfer timed out.
  var timeoutDiagnosis: TransportDiagnosis? { CurlDiagnosis.diagnosis(evidence(CURLE_OPERATION_TIMEDOUT)) }

  /// Whether there is a connection to the target itself, so that only TLS is missing. libcurl's times show it
  /// only after TLS, but the local port is known with the connection. With a proxy, the port would be that of
  /// the connection to the proxy.
  private var isConnected: Bool { route.proxy == nil && number(CURLINFO_LOCAL_PORT) > 0 }

  /// libcurl's error message, printable and short.
  private func errorText(_ code: CURLcode) -> String {
    let recorded = String(cString: words)
    let text = recorded.isEmpty ? String(cString: curl_easy_strerror(code)) : recorded
    let printable = text.utf8.prefix(200).map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
    return String(decoding: printable, as: UTF8.self)
  }

  // MARK: Callbacks, on the transfer thread, within curl_multi_perform

  private func setCallbacks(_ options: CurlOptions) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    options.set(CURLOPT_HEADERDATA, context)
    options.set(CURLOPT_WRITEDATA, context)
    options.set(CURLOPT_PREREQDATA, context)
    options.setReceiver(CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      CurlEasy.from(context).receive(bytes, size * count) {
        (collector, bytes) throws(ResponseCollector.Fault) in
        try collector.receiveLine(bytes)
      }
    }
    options.setReceiver(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      let easy = CurlEasy.from(context)
      // libcurl delivers the same octets again after `resume`, and reads no others until then.
      if easy.hold?.isHeld == true { return Int(CURL_WRITEFUNC_PAUSE) }
      return easy.receive(bytes, size * count) { (collector, bytes) throws(ResponseCollector.Fault) in
        try collector.receiveContent(bytes)
      }
    }
    options.setPrerequest { context, _, _, _, _ in CurlEasy.from(context).begin() }
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlEasy {
    guard let context else { preconditionFailure("libcurl lost a callback's context") }
    return Unmanaged<CurlEasy>.fromOpaque(context).takeUnretainedValue()
  }

  /// Called when the connection is ready and libcurl is about to write the request.
  ///
  /// Only this check enforces the time to start in every case. A process that was stopped, or a machine that
  /// slept, continues in `curl_multi_perform`, before `TransferThread` checks its alarms. libcurl checks its
  /// connect timeout before each step (`multi_runsingle`) until it gets here (`MSTATE_DO`). But it may have
  /// read the time some steps ago, and it uses CLOCK_MONOTONIC, which stops while the machine sleeps.
  ///
  /// When a pooled connection dies without a response, libcurl starts over on a new one, up to five times and
  /// for POST too. A second call means that. It is allowed once, and only for requests that may be repeated.
  private func begin() -> Int32 {
    guard !isLate, beginnings == 0 || (mayRepeat && beginnings == 1) else { return CURL_PREREQFUNC_ABORT }
    beginnings += 1
    return CURL_PREREQFUNC_OK
  }

  private func receive(
    _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int,
    _ take: (inout ResponseCollector, UnsafeRawBufferPointer) throws(ResponseCollector.Fault) -> Void
  ) -> Int {
    do throws(ResponseCollector.Fault) {
      try take(&collector, UnsafeRawBufferPointer(start: bytes, count: count))
      return count
    } catch {
      fault = error
      return count == 0 ? 1 : 0  // Any number but the one delivered ends the transfer.
    }
  }
}

extension CurlEasy.Resolution {
  /// The line for CURLOPT_RESOLVE: `host:port:address,address`. It replaces the addresses from an earlier
  /// transfer.
  fileprivate var line: String {
    let list = addresses.map { $0.version == .v6 ? "[\($0)]" : "\($0)" }.joined(separator: ",")
    return "\(host):\(port):\(list)"
  }
}
