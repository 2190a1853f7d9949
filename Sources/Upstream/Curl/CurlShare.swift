import CCurl

/// What the transfers of a multi handle have in common: the TLS sessions that servers let be resumed.
///
/// Without it each transfer has a table of its own, which is empty when a connection begins and gone when it ends: a request
/// on a connection of its own would never resume anything, and 5,000 waiting ones hold 5 MB of empty tables. What libcurl
/// resumes is a session with the same host, port and TLS options, never with early data.
///
/// Rules: made by `curl_share_init`, freed by `curl_share_cleanup` in `deinit` after every easy handle that uses it: each
/// holds it. It has no lock, since all of them belong to one thread, the transfer thread.
final class CurlShare {
  let handle: UnsafeMutableRawPointer

  init() throws(CurlTransport.SetupError) {
    guard let handle = curl_share_init() else { throw .library("curl_share_init failed") }
    self.handle = handle
    guard callgate_share_set_data(handle, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK else {
      throw .library("TLS sessions cannot be shared")
    }
  }

  deinit { curl_share_cleanup(handle) }
}
