// Shares TLS sessions between libcurl transfers, so that new connections need only a short handshake.

import CCurl
import HTTP
import Platform

/// The shared state of transfers: TLS sessions that can be resumed.
///
/// Without it each transfer has a table of its own, which is empty when a connection begins and gone when it ends: a request
/// on a connection of its own would never resume anything, and 5,000 waiting ones hold 5 MB of empty tables. What libcurl
/// resumes is a session with the same host, port and TLS options, never with early data; with TLS 1.2 by ticket too, see CCurl's shim.
///
/// Rules: made by `curl_share_init`, freed by `curl_share_cleanup` in `deinit` after every easy handle that uses it: each
/// holds it. It has no lock, since all of them belong to one thread, the transfer thread.
final class CurlShare {
  let handle: UnsafeMutableRawPointer

  init() throws(TransportError) {
    guard let handle = curl_share_init() else {
      throw TransportError(.connect, sent: false, detail: "curl_share_init failed")
    }
    self.handle = handle
    guard callgate_share_set_data(handle, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK else {
      throw TransportError(.connect, sent: false, detail: "libcurl cannot share TLS sessions")
    }
  }

  deinit { curl_share_cleanup(handle) }
}

/// The share that new transfers get.
///
/// A session's chain is verified when it begins, and not when it is resumed, so after a while all sessions begin again. They also do
/// after a failed handshake: libcurl keeps a session whose certificate turned out to be for another name, and would resume it, and
/// fail again, for as long as the server allows it.
struct SharedSessions {
  private let lifetime: Duration
  private var share: CurlShare?
  private var end = Expiry.past

  /// - Parameter lifetime: how long sessions are resumed.
  init(lifetime: Duration) { self.lifetime = lifetime }

  /// The share for a transfer that begins now.
  mutating func current(_ now: MonotonicTime) throws(TransportError) -> CurlShare {
    if let share, now < end { return share }
    let new = try CurlShare()
    share = new
    end = Expiry(now + lifetime)
    return new
  }

  /// No session is resumed any more; transfers that run keep theirs.
  mutating func forget() { share = nil }
}
