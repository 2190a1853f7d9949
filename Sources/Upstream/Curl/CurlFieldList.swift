// Owns the list of header lines that libcurl sends.

import CCurl

/// A request's field lines in the form that libcurl reads.
///
/// Rules: made by `curl_slist_append`, freed by `curl_slist_free_all` in `deinit`. libcurl keeps the pointer
/// and only reads, so many transfers may share a list; each keeps a reference for as long as its easy handle
/// lives.
///
/// `@unchecked Sendable`: nothing changes the list after it is made, and any thread may make or free it.
final class CurlFieldList: @unchecked Sendable {
  let head: UnsafeMutablePointer<curl_slist>?

  /// A list of lines in libcurl's syntax.
  init(_ lines: [String]) {
    var head: UnsafeMutablePointer<curl_slist>?
    for line in lines { head = curl_slist_append(head, line) }
    self.head = head
  }

  deinit { curl_slist_free_all(head) }
}
