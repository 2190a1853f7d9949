// The version of the libcurl library in use.

import CCurl

/// The libcurl that runs in this process.
public enum CurlVersion {
  /// The version, as in curl_version_info(3): 7.88.1; "unknown" if libcurl reports none.
  public static var current: String {
    guard let version = curl_version_info(CURLVERSION_FIRST)?.pointee.version else { return "unknown" }
    return String(cString: version)
  }
}
