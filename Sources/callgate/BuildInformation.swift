// The commit and compiler of this build, and the versions of the libraries that it runs with.

import API
import CBuild
import Gate
import JOSE
import JSON
import PostgresStore
import SQLiteStore
import Upstream

/// The build's stamp and the versions of its libraries.
enum BuildInformation {
  /// The commit, followed by `-dirty` if the tree had changes; `unknown` in a build without a stamp.
  static var revision: String { unsafe String(cString: callgate_revision()) }

  /// The commit's time in RFC 3339; `unknown` in a build without a stamp.
  static var committedAt: String {
    let stamp = unsafe String(cString: callgate_committed_at())
    return Int64(stamp).map { Instant(seconds: $0).rfc3339 } ?? stamp
  }

  /// The compiler's version. Without a stamp, the version of the standard library, which has no patch number.
  static var swift: String {
    let stamp = unsafe String(cString: callgate_swift())
    return stamp.isEmpty ? "\(_SwiftStdlibVersion.current)" : stamp
  }

  /// The line of `callgate --version`.
  static var line: String { "callgate \(Version.current) (\(revision))" }

  /// The document of `callgate version --json`.
  static var document: String {
    let members: JSONValue = .object([
      "version": .string(Version.current), "revision": .string(revision),
      "committed_at": .string(committedAt), "swift": .string(swift),
      "openssl": .string(OpenSSLVersion.current), "curl": .string(CurlVersion.current),
      "sqlite": .string("\(SQLiteVersion.current)"), "libpq": .string(PostgresVersion.current),
    ])
    return String(decoding: members.serialized(), as: UTF8.self)
  }
}
