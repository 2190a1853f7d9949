// The version of the libpq library in use.

import CLibPQ

/// The libpq that runs in this process.
public enum PostgresVersion {
  /// The version of libpq: 15.14, from PQlibVersion's 150014.
  public static var current: String {
    let number = PQlibVersion()
    return "\(number / 10_000).\(number % 10_000)"
  }
}
