// Parses and checks the address of a PostgreSQL database, and hides its password.

import CLibPQ
import Glibc
package import Store

/// A connection string: a URL such as `postgres://user:password@host/database?sslmode=require`, or libpq's
/// `key=value` form. The string contains a password, so printing the address shows nothing of it.
public struct PostgresAddress: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The connection string, word for word.
  package let text: String
  /// The values by libpq's keywords.
  private let options: [String: String]

  /// Parses a connection string.
  ///
  /// libpq ends the user's part at the first `@` or `/`. So if a password contains one of them unencoded, its
  /// rest leaks into the host, the port, the database name or the query. A string that shows such a leak is
  /// refused. Otherwise a part of the password would be printed in error messages and sent to DNS servers.
  ///
  /// - Throws: `PostgresAddressProblem`, which never contains libpq's message: that may quote the password.
  public init(_ text: String) throws(PostgresAddressProblem) {
    guard let options = Self.parse(text) else { throw Self.problem(ofUnreadable: text) }
    try Self.check(options)
    self.text = text
    self.options = options
  }

  public var description: String { "<redacted>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: Problems

/// The reason why a connection string is refused, as half a sentence, and its fix. These texts quote at most
/// the name of a parameter from the string.
public enum PostgresAddressProblem: Error, Hashable, Sendable {
  /// A host or its numeric address contains `@`.
  case host
  /// A port is not a number from 1 to 65535.
  case port
  /// The database name contains `@`.
  case databaseName
  /// The user name contains `:`, so it may contain the password, which the database server would print.
  case user
  /// libpq has no such `sslmode`.
  case sslmode
  /// libpq has no parameter of this name.
  case parameter(String)
  /// Anything else.
  case unreadable

  private static let encode = "encode @ as %40 and / as %2F in the password"

  /// The end of a sentence that says what is wrong.
  public var message: String {
    switch self {
    case .host: "has a host with @"
    case .port: "has a port that is not a number from 1 to 65535"
    case .databaseName: "has a database name with @"
    case .user: "has a user name with :"
    case .sslmode: "has an unknown sslmode"
    case .parameter(let name): "has a parameter that PostgreSQL does not know, \(name)"
    case .unreadable: "is not a PostgreSQL URL that libpq can read"
    }
  }

  /// The instruction that says how to correct the string.
  public var remedy: String {
    switch self {
    case .host, .port, .databaseName: Self.encode
    case .user: "write the : between user and password as it is, not as %3A"
    case .sslmode: "use disable, allow, prefer, require, verify-ca or verify-full, and \(Self.encode)"
    case .parameter(let name): "remove \(name) from the URL"
    case .unreadable:
      "write it as postgres://USER:PASSWORD@HOST/NAME; \(Self.encode), and % as %25, ? as %3F and & as %26"
    }
  }
}

extension PostgresAddress {
  private static let sslModes: Set = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

  /// Returns the values by libpq's keywords; nil if libpq cannot read the string.
  private static func parse(_ text: String) -> [String: String]? {
    guard let found = PQconninfoParse(text, nil) else { return nil }
    defer { PQconninfoFree(found) }
    return values(of: found)
  }

  /// The entries with a value. The array ends with an entry without a keyword.
  private static func values(of first: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
    var options: [String: String] = [:]
    var entry = first
    while let keyword = entry.pointee.keyword {
      if let value = entry.pointee.val { options[String(cString: keyword)] = String(cString: value) }
      entry += 1
    }
    return options
  }

  private static func check(_ options: [String: String]) throws(PostgresAddressProblem) {
    if ["host", "hostaddr"].contains(where: { options[$0]?.utf8.contains(UInt8(ascii: "@")) == true }) {
      throw .host
    }
    let ports = options["port"]?.split(separator: ",") ?? []
    let isNumber = { (port: Substring) in
      port.utf8.allSatisfy { 0x30...0x39 ~= $0 } && 1...65535 ~= Int(port) ?? 0
    }
    guard ports.allSatisfy(isNumber) else { throw .port }
    if options["dbname"]?.utf8.contains(UInt8(ascii: "@")) == true { throw .databaseName }
    if options["user"]?.utf8.contains(UInt8(ascii: ":")) == true { throw .user }
    if let mode = options["sslmode"], !sslModes.contains(mode) { throw .sslmode }
  }

  /// The problem of a string that libpq cannot read. It names a parameter only if it is certain that the name
  /// is no part of a password.
  private static func problem(ofUnreadable text: String) -> PostgresAddressProblem {
    // As libpq does: the user's part ends with the first `@`, if no `/` comes before it.
    guard let scheme = text.firstRange(of: "://") else { return .unreadable }
    var rest = text[scheme.upperBound...]
    if let end = rest.firstIndex(where: { $0 == "@" || $0 == "/" }), rest[end] == "@" {
      rest = rest[rest.index(after: end)...]
    }
    guard let mark = rest.firstIndex(of: "?") else { return .unreadable }
    let query = rest[rest.index(after: mark)...]
    guard !query.contains("@"), let options = parse(String(text[..<mark])) else { return .unreadable }
    do throws(PostgresAddressProblem) { try check(options) } catch { return error }
    let known = keywords
    for parameter in query.split(separator: "&") {
      let name = parameter.prefix { $0 != "=" }
      // The text after a password may be its second half, after an unencoded `&`.
      guard !["password", "sslpassword"].contains(name) else { return .unreadable }
      if !known.contains(String(name)) {
        let isName =
          name.utf8.count <= 64
          && name.utf8.allSatisfy {
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || $0 == UInt8(ascii: "_")
          }
        return isName && name.endIndex != parameter.endIndex ? .parameter(String(name)) : .unreadable
      }
    }
    return .unreadable
  }

  /// The names of all parameters that libpq knows, and `ssl`, which it translates.
  private static var keywords: Set<String> {
    guard let first = PQconndefaults() else { return [] }
    defer { PQconninfoFree(first) }
    var names: Set = ["ssl"]
    var entry = first
    while let keyword = entry.pointee.keyword {
      names.insert(String(cString: keyword))
      entry += 1
    }
    return names
  }

  /// Checks for mistakes that waiting does not fix, and that libpq finds too late or not at all. Connects to
  /// no server.
  ///
  /// - Parameter home: The folder with the user's `.postgresql`; nil for that of the environment.
  /// - Throws: `misconfigured` if a file of root certificates is missing that the string names or the
  ///   `sslmode` needs, or if libpq refuses a value.
  package func check(home: String? = nil) throws(StoreError) {
    // With `require`, libpq continues without the file, and then accepts any certificate.
    if let file = rootFile, access(file, R_OK) != 0 {
      let reason =
        file == "system"
        ? "libpq knows sslrootcert=system from version 16 on: \(Self.remedyForRoots)"
        : "sslrootcert names the file \"\(file)\", which cannot be read: \(String(cString: strerror(errno)))"
      throw StoreError(.misconfigured, "database URL", reason)
    }
    // libpq would advise switching the verification off.
    if let mode = lacksRoots(home: home ?? Self.variable("HOME")) {
      throw StoreError(
        .misconfigured, "database URL",
        "sslmode=\(mode) verifies the server's certificate, and no root certificates are named: \(Self.remedyForRoots)"
      )
    }
    guard Self.isRefused(options) else { return }
    let parameter = options.keys.sorted().first { keyword in
      !Self.isRefused(options.filter { $0.key != keyword })
    }
    throw StoreError(
      .misconfigured, "database URL",
      "libpq refuses the value of \(parameter ?? "a variable such as PGSSLMODE")")
  }

  /// Whether libpq refuses a value before it connects. libpq checks all values before it looks for the
  /// socket, which does not exist here.
  private static func isRefused(_ options: [String: String]) -> Bool {
    let nowhere = ["host": "/nonexistent", "hostaddr": "", "port": ""]
    let entries = Array(options.merging(nowhere) { $1 })
    return withCStrings(entries.map(\.key)) { names in
      withCStrings(entries.map(\.value)) { PQpingParams(names, $0, 0) == PQPING_NO_ATTEMPT }
    }
  }

  /// Whether this libpq reads `sslrootcert=system` as the root certificates of the system.
  package static var knowsSystemRoots: Bool { PQlibVersion() >= 160_000 }

  private static var remedyForRoots: String {
    "set sslrootcert=/etc/ssl/certs/ca-certificates.crt" + (knowsSystemRoots ? " or sslrootcert=system" : "")
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The value of `sslrootcert` from the string, otherwise from the environment; nil if there is none, or if
  /// the string has an empty one.
  private var namedRoots: String? {
    if let stated = options["sslrootcert"] { return stated.isEmpty ? nil : stated }
    return Self.variable("PGSSLROOTCERT")
  }

  /// The file of root certificates that the string or the environment names; nil if there is none or it is
  /// the system's.
  private var rootFile: String? {
    namedRoots.flatMap { $0 == "system" && Self.knowsSystemRoots ? nil : $0 }
  }

  /// The `sslmode` that needs root certificates, if none are found; nil if nothing is missing. libpq uses TLS
  /// only over TCP. A service file may name what the string does not.
  private func lacksRoots(home: String?) -> String? {
    guard let mode = options["sslmode"] ?? Self.variable("PGSSLMODE"), mode.hasPrefix("verify-"),
      namedRoots == nil, options["service"] == nil, Self.variable("PGSERVICE") == nil
    else { return nil }
    let names = (options["host"] ?? Self.variable("PGHOST") ?? "").split(separator: ",")
    guard options["hostaddr"]?.isEmpty == false || names.contains(where: { !"/@".contains($0.first ?? "/") })
    else { return nil }
    let hasFile = home.map { access($0 + "/.postgresql/root.crt", F_OK) == 0 } ?? false
    return hasFile ? nil : mode
  }

  private static func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    var pointers = texts.map { text -> UnsafePointer<CChar>? in UnsafePointer(strdup(text)) } + [nil]
    defer { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
    return body(&pointers)
  }
}

// MARK: Servers

/// One of the servers that an address names.
package struct PostgresHost: Hashable, Sendable {
  /// The host name, address or folder of a socket; nil for libpq's default.
  package var name: String?
  /// The numeric address to connect to; nil if libpq is to look up the name.
  package var address: String?
  /// The port; nil for libpq's default.
  package var port: String?

  package init(name: String? = nil, address: String? = nil, port: String? = nil) {
    self.name = name
    self.address = address
    self.port = port
  }
}

extension PostgresAddress {
  /// The database itself, without its login: its servers and its name.
  package var database: [String] {
    let ports = options["port"]?.split(separator: ",", omittingEmptySubsequences: false) ?? [""]
    let port = ports.map { $0.isEmpty ? "5432" : $0 }.joined(separator: ",")
    return [
      options["host"] ?? "", options["hostaddr"] ?? "", port, options["service"] ?? "",
      // libpq's default is the user's name.
      options["dbname"] ?? options["user"] ?? "",
    ]
  }

  /// The time that each server may take, if the address sets it (`connect_timeout`): at least 2 seconds, as
  /// in libpq. Nil without a limit, which 0 also means.
  package var timeout: Duration? {
    guard let seconds = options["connect_timeout"].flatMap({ Int64($0) }), seconds > 0 else { return nil }
    return .seconds(max(2, seconds))
  }

  /// The servers, in the order of the address; nil if libpq gets them from elsewhere, or will report a
  /// mistake in them.
  package var hosts: [PostgresHost]? {
    let names = list("host")
    let addresses = list("hostaddr")
    let ports = list("port")
    let count = max(names.count, addresses.count)
    guard options["service"] == nil, count > 0, names.isEmpty || names.count == count,
      addresses.isEmpty || addresses.count == count, ports.count <= 1 || ports.count == count
    else { return nil }
    return (0..<count).map { index in
      PostgresHost(
        name: names.isEmpty ? nil : names[index], address: addresses.isEmpty ? nil : addresses[index],
        port: ports.isEmpty ? nil : ports[ports.count == 1 ? 0 : index])
    }
  }

  /// Whether the address selects among several servers by their abilities (`target_session_attrs`). Then
  /// libpq refuses the others.
  package var saysWhichServer: Bool { options["target_session_attrs"] != nil }

  /// The parameters with which libpq connects to one server; with nil, to any of them.
  package func parameters(for host: PostgresHost?) -> [(String, String)] {
    var options = options
    if let host {
      options["host"] = host.name
      options["hostaddr"] = host.address
      options["port"] = host.port
    }
    let standard = [
      "client_encoding": "UTF8", "fallback_application_name": "callgate", "tcp_user_timeout": "5000",
      "keepalives_idle": "60",
    ]
    return options.merging(standard, uniquingKeysWith: { stated, _ in stated }).map { ($0, $1) }
  }

  /// The parts of a list; nil for an empty part, which means libpq's default.
  private func list(_ keyword: String) -> [String?] {
    guard let text = options[keyword], !text.isEmpty else { return [] }
    return text.split(separator: ",", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
  }
}
