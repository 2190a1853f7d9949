// The version of the libcurl library in use.

import CCurl

/// The libcurl that runs in this process.
public enum CurlVersion {
  /// As curl_version_info(3) names it: 7.88.1; "unknown" where libcurl gives none.
  public static var current: String {
    guard let version = curl_version_info(CURLVERSION_FIRST)?.pointee.version else { return "unknown" }
    return String(cString: version)
  }
}
