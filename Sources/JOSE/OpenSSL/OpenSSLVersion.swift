// The version of the OpenSSL library in use.

import COpenSSL

/// The OpenSSL that runs in this process.
public enum OpenSSLVersion {
  /// The version, as in OpenSSL_version(3): 3.0.17.
  public static var current: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
