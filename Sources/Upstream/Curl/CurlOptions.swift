// Sets the options of a libcurl transfer, and remembers the first option that libcurl refused.

import CCurl
import Glibc
import HTTP

/// Sets an easy handle's options and remembers the first one that was refused.
///
/// Rules: used only by `CurlEasy`, while it creates a handle; owns nothing.
final class CurlOptions {
  private let handle: UnsafeMutableRawPointer
  /// The option that libcurl refused and why.
  private(set) var failure: String?

  init(_ handle: UnsafeMutableRawPointer) { self.handle = handle }

  /// Sets the options of every request: verification as the settings require it, and nothing automatic.
  func setPolicy(_ settings: TransportSettings, _ target: Target, _ proxy: Proxy?) {
    check("the protocol", callgate_easy_set_protocol(handle, target.secure ? 1 : 0))
    check("quick exit", callgate_easy_set_quick_exit(handle))
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    if let multiplexing = settings.multiplexing {
      setMultiplexing(multiplexing)
    } else {
      set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    }
    set(CURLOPT_HTTP09_ALLOWED, 0)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_PATH_AS_IS, 1)
    if let length = settings.bufferLength {
      set(CURLOPT_BUFFERSIZE, length)
      set(CURLOPT_UPLOAD_BUFFERSIZE, 16 * 1024)
    }
    set(CURLOPT_MAXAGE_CONN, Int(settings.idleTimeout.components.seconds))

    setTLS(settings, target)
    setProxy(proxy, settings)
  }

  /// Uses HTTP/2 if TLS negotiates it, on a connection that another transfer may be opening already.
  private func setMultiplexing(_ multiplexing: Multiplexing) {
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    set(CURLOPT_PIPEWAIT, 1)
    // The kernel tries for 15 minutes to deliver to a host that is gone, and all requests share the one
    // connection (tcp(7)). The callback's pointer carries the number itself, not an address.
    set(
      CURLOPT_SOCKOPTDATA, UnsafeMutableRawPointer(bitPattern: Int(multiplexing.silence / .milliseconds(1))))
    check(
      "the socket callback",
      callgate_easy_set_socket_options(handle) { milliseconds, socket, _ in
        var limit = UInt32(UInt(bitPattern: milliseconds))
        setsockopt(
          socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, socklen_t(MemoryLayout<UInt32>.size))
        return CURL_SOCKOPT_OK
      })
  }

  private func setTLS(_ settings: TransportSettings, _ target: Target) {
    let isUnverified = settings.pinnedKey != nil || (target.isLoopback && !settings.verifiesLoopback)
    set(CURLOPT_SSL_VERIFYPEER, isUnverified ? 0 : 1)
    set(CURLOPT_SSL_VERIFYHOST, isUnverified ? 0 : 2)
    set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    // A directory of certificates would keep libcurl from reading the bundle once and sharing it.
    set(CURLOPT_CAPATH, nil as String?)
    // Each connection copies these strings, so without TLS remove even libcurl's default.
    guard target.secure else { return set(CURLOPT_CAINFO, nil as String?) }
    check("the TLS context", callgate_easy_set_context(handle))
    // libcurl compares the pinned key whatever else it verifies (CURLOPT_PINNEDPUBLICKEY(3)).
    if let key = settings.pinnedKey { set(CURLOPT_PINNEDPUBLICKEY, key) }
    switch settings.authorities {
    case .file(let path): set(CURLOPT_CAINFO, path)
    case .pem(let bytes): set(CURLOPT_CAINFO_BLOB, copying: bytes)
    case nil: break
    }
  }

  /// Sets the proxy, or none. The empty string also keeps libcurl from reading the environment.
  private func setProxy(_ proxy: Proxy?, _ settings: TransportSettings) {
    set(CURLOPT_PROXY, proxy?.url ?? "")
    set(CURLOPT_NOPROXY, "")
    set(CURLOPT_PROXY_CAPATH, nil as String?)
    guard let proxy else { return set(CURLOPT_PROXY_CAINFO, nil as String?) }
    set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
    set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
    set(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    // Only https targets have proxies, so `setTLS` has set the callback that completes an SSL_CTX. libcurl
    // also calls it for an https proxy.
    switch settings.authorities {
    case .file(let path): set(CURLOPT_PROXY_CAINFO, path)
    case .pem(let bytes): set(CURLOPT_PROXY_CAINFO_BLOB, copying: bytes)
    case nil: break
    }
    set(CURLOPT_HTTPPROXYTUNNEL, 1)
    if let user = proxy.user { set(CURLOPT_PROXYUSERNAME, user) }
    if let password = proxy.password { set(CURLOPT_PROXYPASSWORD, password) }
  }

  /// Sets URL, method, content and use of the pool. The plan's content must live as long as the handle.
  func setRequest(_ plan: TransferPlan) {
    set(CURLOPT_URL, plan.route.url)
    switch plan.method {
    case .head: set(CURLOPT_NOBODY, 1)
    case .post, .put, .patch, .delete, .options:
      set(CURLOPT_POST, 1)
      if plan.method != .post { set(CURLOPT_CUSTOMREQUEST, plan.method.rawValue) }
      set(CURLOPT_POSTFIELDSIZE_LARGE, offset: plan.content.count)
      set(CURLOPT_POSTFIELDS, plan.content.address)
    case .get, .trace, .connect, .other: set(CURLOPT_HTTPGET, 1)
    }
    // No CURLOPT_MAXFILESIZE: it ends a transfer within the fields, before the response is known. The
    // collector enforces the limit of the content.
    if plan.reuse {
      set(CURLOPT_TCP_KEEPALIVE, 1)
    } else {
      set(CURLOPT_FRESH_CONNECT, 1)
      set(CURLOPT_FORBID_REUSE, 1)
    }
  }

  func set(_ option: CURLoption, _ value: Int) {
    check("option \(option.rawValue)", callgate_easy_set_long(handle, option, value))
  }

  func set(_ option: CURLoption, offset: Int) {
    check("option \(option.rawValue)", callgate_easy_set_offset(handle, option, curl_off_t(offset)))
  }

  func set(_ option: CURLoption, _ value: String?) {
    check("option \(option.rawValue)", callgate_easy_set_string(handle, option, value))
  }

  func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
    check("option \(option.rawValue)", callgate_easy_set_pointer(handle, option, value))
  }

  func set(_ option: CURLoption, _ value: UnsafeMutablePointer<CChar>?) {
    check("option \(option.rawValue)", callgate_easy_set_pointer(handle, option, value))
  }

  func set(_ option: CURLoption, _ value: UnsafeMutablePointer<curl_slist>?) {
    check("option \(option.rawValue)", callgate_easy_set_list(handle, option, value))
  }

  func set(_ share: CurlShare) {
    check("what is shared", callgate_easy_set_share(handle, share.handle))
  }

  private func set(_ option: CURLoption, copying bytes: [UInt8]) {
    check("option \(option.rawValue)", callgate_easy_set_blob(handle, option, bytes, bytes.count))
  }

  func setReceiver(_ option: CURLoption, _ value: curl_write_callback) {
    check("option \(option.rawValue)", callgate_easy_set_receiver(handle, option, value))
  }

  func setPrerequest(_ value: curl_prereq_callback) {
    check("the prerequest callback", callgate_easy_set_prerequest(handle, value))
  }

  private func check(_ what: @autoclosure () -> String, _ code: CURLcode) {
    guard code != CURLE_OK, failure == nil else { return }
    failure = "\(what()): \(String(cString: curl_easy_strerror(code)))"
  }
}
