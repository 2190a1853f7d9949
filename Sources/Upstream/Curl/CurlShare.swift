// Shares TLS sessions between libcurl transfers, so that new connections need only a short handshake.

import CCurl
import HTTP
import Platform

/// The shared state of transfers: TLS sessions that can be resumed.
///
/// Without a share, each transfer has its own table of sessions, which is empty when a connection begins and
/// gone when it ends. A request on its own connection would never resume a session, and 5,000 waiting
/// requests would use 5 MB for empty tables. libcurl resumes a session only for the same host, port and TLS
/// options, and never sends early data. With TLS 1.2, tickets work, too: see CCurl's shim.
///
/// Rules: made by `curl_share_init`, freed by `curl_share_cleanup` in `deinit`, after every easy handle that
/// uses the share, because each has a reference to it. The share has no lock, because all its handles belong
/// to one thread, the transfer thread.
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
/// The certificate chain is verified when a session begins, and not when it is resumed. So after `lifetime`,
/// all sessions begin again. They also do after a failed handshake: libcurl keeps a session even if its
/// certificate turned out to be for another name. It would resume that session, and fail again, for as long
/// as the server allows it.
struct SharedSessions {
  private let lifetime: Duration
  private var share: CurlShare?
  private var end = Expiry.past

  /// - Parameter lifetime: The time for which sessions are resumed.
  init(lifetime: Duration) { self.lifetime = lifetime }

  /// The share for a transfer that begins now.
  mutating func current(_ now: MonotonicTime) throws(TransportError) -> CurlShare {
    if let share, now < end { return share }
    let new = try CurlShare()
    share = new
    end = Expiry(now + lifetime)
    return new
  }

  /// Ends the resumption of the present sessions. Running transfers keep their share.
  mutating func forget() { share = nil }
}
