// Reads the location of the store (memory, an SQLite file or a PostgreSQL URL) from the text of a setting.

package import DatabaseURL
import Documents
import JOSE
import Texts

/// The location of the store, as text. A refused text is not shown, because it may contain a password.
enum StoreText {
  /// `CALLGATE_STATE`: a path, or `memory`.
  static let state: @Sendable (String) throws(Refusal) -> Configuration.Store = { text throws(Refusal) in
    // Docker's env files keep a comment after a value. Without this check, the state would silently go into a
    // file of that name.
    guard text.firstRange(of: " #") == nil else {
      throw Refusal(
        "has \" #\" in it, which begins no comment here",
        "write the path or memory alone; a path with \" #\" goes into store.url")
    }
    if try isMemory(text) { return .memory }
    guard !hasScheme(text) else {
      throw Refusal(
        "is a URL, not the path of a file", "write a path or memory; a PostgreSQL URL goes into DATABASE_URL")
    }
    return .sqlite(path: try path(text))
  }

  /// `DATABASE_URL`.
  static let postgres: @Sendable (String) throws(Refusal) -> Configuration.Store = { text throws(Refusal) in
    let scheme = text.prefix { $0 != ":" }
    guard ["postgres", "postgresql"].contains(scheme), text.dropFirst(scheme.count).hasPrefix("://"),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), text.utf8.count <= 2048
    else {
      throw Refusal(
        "is not a PostgreSQL URL", "write it as postgres://USER:PASSWORD@HOST/NAME, or unset it for SQLite")
    }
    do throws(PostgresAddressProblem) {
      _ = try PostgresAddress(text)
    } catch {
      throw Refusal(error.message, error.remedy)
    }
    return .postgres(url: Secret(Array(text.utf8)))
  }

  /// `store.url`.
  static let read: @Sendable (String) throws(Refusal) -> Configuration.Store = { text throws(Refusal) in
    if try isMemory(text) { return .memory }
    if text.hasPrefix("sqlite:") {
      let rest = text.dropFirst("sqlite:".count)
      guard !rest.hasPrefix("//") || rest.hasPrefix("///") else {
        throw Refusal(
          "names a host, and SQLite's file is on this machine",
          "write sqlite:PATH; a path from the root has three slashes: sqlite:///data/callgate.sqlite3")
      }
      return .sqlite(path: try path(String(rest)))
    }
    guard text.hasPrefix("postgres") else {
      throw Refusal("names no store", "write sqlite:PATH, memory or postgres://USER:PASSWORD@HOST/NAME")
    }
    return try postgres(text)
  }

  private static func path(_ text: String) throws(Refusal) -> String {
    guard !text.isEmpty, !text.hasSuffix("/") else {
      throw Refusal("names no file", "write the path of a file, such as callgate.sqlite3")
    }
    // These are special names of SQLite. `:memory:` would leave an empty file of that name, and the state
    // would be lost at the next restart. `file:` begins a URI in builds of SQLite such as Debian's.
    guard !text.hasPrefix(":"), !text.hasPrefix("file:") else {
      throw Refusal(
        "is a special name of SQLite, not the path of a file",
        "write a path such as callgate.sqlite3, or memory to keep state until the server ends")
    }
    return try NameText.path(text)
  }

  /// Whether a text is the word `memory`. Refuses the word with a blank after it, because such a path is a
  /// mistake.
  private static func isMemory(_ text: String) throws(Refusal) -> Bool {
    let scalars = text.unicodeScalars
    guard scalars.starts(with: "memory".unicodeScalars) else { return false }
    guard let next = scalars.dropFirst(6).first else { return true }
    guard next == " " || next.isUnseen else { return false }
    throw Refusal("is not memory: \(NameText.blank(next)) follows the word", "write memory alone")
  }

  private static func hasScheme(_ text: String) -> Bool {
    text.firstRange(of: "://") != nil || text.hasPrefix("sqlite:")
  }
}

extension Configuration.Store {
  /// The values that tell stores apart: everything but the login and the parameters of the connection. They
  /// contain no password.
  package var identity: [String] {
    switch self {
    case .memory: ["memory"]
    case .sqlite(let path): ["sqlite", path]
    case .postgres: ["postgres"] + (address?.database ?? [])
    }
  }

  /// The address of its PostgreSQL database; nil for another store.
  package var address: PostgresAddress? {
    guard case .postgres(let url) = self else { return nil }
    do throws(PostgresAddressProblem) {
      return try PostgresAddress(url.exposedString())
    } catch {
      preconditionFailure("a configured URL that was read before: \(error)")
    }
  }
}
