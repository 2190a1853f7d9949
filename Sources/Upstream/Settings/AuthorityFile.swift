// Turns certificates in memory into a file that libcurl reads once instead of for each connection.

import CCurl
import Glibc

/// Certificates of authorities as a file that only this process can open, by a path of `/proc`.
///
/// libcurl parses certificates in memory again for each connection: 150 of them take 240 million
/// instructions. It reads a file once a day (CURLOPT_CA_CACHE_TIMEOUT).
///
/// Rules: the path is valid until `deinit`.
final class AuthorityFile: Sendable {
  let path: String
  private let descriptor: Int32

  /// Nil without memory, descriptors or `/proc`. libcurl can then still get the certificates as text.
  init?(_ certificates: [UInt8]) {
    descriptor = callgate_memory_file("callgate-authorities")
    path = "/proc/self/fd/\(descriptor)"
    guard descriptor >= 0 else { return nil }
    // deinit closes it after a failure, too.
    guard write(descriptor, certificates, certificates.count) == certificates.count, access(path, R_OK) == 0
    else { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
