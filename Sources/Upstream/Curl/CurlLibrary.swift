// Initializes libcurl once for the process.

import CCurl
import Platform

/// The one-time start of libcurl.
///
/// Rules: `curl_global_init` runs once, before any other call and before any handle exists; it is never
/// undone, because other parts of the process may use libcurl and a process that ends needs no cleaning.
enum CurlLibrary {
  /// Starts libcurl, once for the process. Also ignores SIGPIPE: older versions of libcurl let OpenSSL write
  /// with `write`, which would end the process when a peer has closed.
  ///
  /// - Throws: `TransportSetupError` if this libcurl lacks a feature that the transport needs.
  static func start() throws(TransportSetupError) { try started.get() }

  private static let started: Result<Void, TransportSetupError> = {
    ProcessSetup.ignoreBrokenPipes()
    guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else {
      return .failure(.library("curl_global_init failed"))
    }
    guard let version = curl_version_info(CURLVERSION_FIRST) else {
      return .failure(.library("curl_version_info failed"))
    }
    let tls = version.pointee.ssl_version.map { String(cString: $0) } ?? "none"
    // This process completes the SSL_CTX of libcurl's connections, so both must use the same OpenSSL.
    guard tls.hasPrefix("OpenSSL/\(OPENSSL_version_major()).") else {
      return .failure(.library("libcurl is built with \(tls), not with OpenSSL \(OPENSSL_version_major())"))
    }
    return .success(())
  }()
}
