// Owns the libcurl multi handle: runs all transfers and keeps the connection pool.

import CCurl
import Glibc
import Synchronization

/// A multi handle: the transfers that run and the pool of connections.
///
/// Rules: made by `curl_multi_init`, freed by `curl_multi_cleanup` in `deinit` after every easy handle was
/// removed. Made on any thread, then used by one thread only, the transfer thread; the one call allowed to
/// others is `curl_multi_wakeup`, which goes through `CurlWaker`. An easy handle that was added is held here
/// until it is removed, so the pointer its callbacks get stays valid.
final class CurlMulti {
  /// A transfer that libcurl has finished. Its handle is already removed.
  struct Finished {
    let easy: CurlEasy
    let code: CURLcode
  }

  /// Wakes `poll` from any thread.
  let waker: CurlWaker
  private let handle: UnsafeMutableRawPointer
  private var running: [UnsafeMutableRawPointer: CurlEasy] = [:]
  /// False if the last `perform` failed for lack of memory or descriptors.
  private var hasMemory = true

  /// - Parameter streams: The number of transfers that share the one connection to each host; nil: each
  ///   transfer uses a connection of its own from the pool.
  init(pooledConnections: Int, streams: Int? = nil) throws(TransportSetupError) {
    guard let handle = curl_multi_init() else { throw .library("curl_multi_init failed") }
    self.handle = handle
    waker = CurlWaker(handle)
    let code = callgate_multi_set_long(handle, CURLMOPT_MAXCONNECTS, pooledConnections)
    guard code == CURLM_OK else { throw .library("CURLMOPT_MAXCONNECTS failed") }
    if let streams {
      guard callgate_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, 1) == CURLM_OK,
        callgate_multi_set_long(handle, CURLMOPT_MAX_CONCURRENT_STREAMS, streams) == CURLM_OK
      else { throw .library("CURLMOPT_MAX_HOST_CONNECTIONS or CURLMOPT_MAX_CONCURRENT_STREAMS failed") }
    }
    // libcurl does not report that it has no descriptor for waking up. A submission would then wait for
    // minutes.
    guard waker.wake() else { throw .library("curl_multi_wakeup failed: out of file descriptors?") }
  }

  deinit { close() }

  /// Frees the handle and closes every connection; nothing else may be called after it.
  func close() {
    guard waker.close() else { return }
    for easy in running.values { curl_multi_remove_handle(handle, easy.handle) }
    running = [:]
    curl_multi_cleanup(handle)
  }

  /// Starts a transfer. Returns false if libcurl does not accept it.
  func add(_ easy: CurlEasy) -> Bool {
    guard curl_multi_add_handle(handle, easy.handle) == CURLM_OK else { return false }
    running[easy.handle] = easy
    return true
  }

  /// Removes a transfer. If it is still running, it is given up, and its HTTP/1.1 connection is closed.
  func remove(_ easy: CurlEasy) {
    guard running.removeValue(forKey: easy.handle) != nil else { return }
    check(curl_multi_remove_handle(handle, easy.handle), "curl_multi_remove_handle")
  }

  /// Advances every transfer without waiting, and returns those that ended.
  func perform() -> [Finished] {
    var count: Int32 = 0
    // Without memory, `poll` waits a little, and the next turn tries again.
    hasMemory = check(curl_multi_perform(handle, &count), "curl_multi_perform")

    var finished: [Finished] = []
    while let message = curl_multi_info_read(handle, &count) {
      guard message.pointee.msg == CURLMSG_DONE, let pointer = message.pointee.easy_handle,
        let easy = running[pointer]
      else { continue }
      // The message is gone once its handle is removed.
      let code = callgate_message_result(message)
      remove(easy)
      finished.append(Finished(easy: easy, code: code))
    }
    return finished
  }

  /// Waits until a transfer can continue, `wake` is called or the time has passed; 10 ms if libcurl has no
  /// memory.
  func poll(milliseconds: Int32) {
    guard hasMemory, check(curl_multi_poll(handle, nil, 0, milliseconds, nil), "curl_multi_poll") else {
      usleep(10_000)
      return
    }
  }

  /// Whether a call succeeded. A call that failed for lack of memory may succeed later. Any other failure is
  /// a bug, and stops the process.
  @discardableResult private func check(_ code: CURLMcode, _ call: String) -> Bool {
    precondition(!Self.isMisuse(code), "\(call): \(code.rawValue)")
    return code == CURLM_OK
  }

  /// Whether a code reports a bug in this process. All other codes are about memory or descriptors
  /// (libcurl-errors(3)): `CURLM_OUT_OF_MEMORY`, `CURLM_INTERNAL_ERROR`, `CURLM_UNRECOVERABLE_POLL`.
  static func isMisuse(_ code: CURLMcode) -> Bool {
    switch code {
    case CURLM_BAD_HANDLE, CURLM_BAD_EASY_HANDLE, CURLM_BAD_SOCKET, CURLM_UNKNOWN_OPTION, CURLM_ADDED_ALREADY,
      CURLM_RECURSIVE_API_CALL, CURLM_BAD_FUNCTION_ARGUMENT:
      true
    default: false
    }
  }
}

/// Wakes a multi handle's thread.
///
/// Rules: `curl_multi_wakeup` may be called from any thread while the multi handle lives; the lock makes
/// sure that it lives, because `close` comes before the handle is freed.
final class CurlWaker: Sendable {
  // Proof for the pointer: it is only used for curl_multi_wakeup, which is safe on every thread, within the
  // lock.
  private struct Handle: @unchecked Sendable { var pointer: UnsafeMutableRawPointer? }
  private let handle: Mutex<Handle>

  fileprivate init(_ pointer: UnsafeMutableRawPointer) { handle = Mutex(Handle(pointer: pointer)) }

  /// Ends the current wait of `poll`, or else the next one. False if that is not possible.
  @discardableResult func wake() -> Bool {
    handle.withLock { handle in
      guard let pointer = handle.pointer else { return false }
      return curl_multi_wakeup(pointer) == CURLM_OK
    }
  }

  /// Makes further calls of `wake` return false. Returns whether this was the first call.
  fileprivate func close() -> Bool {
    handle.withLock { handle in
      defer { handle.pointer = nil }
      return handle.pointer != nil
    }
  }
}
