// Parses the address of a PostgreSQL server, and hides its password.

import CLibPQ
public import Store

/// A connection string, `postgres://user:password@host/database?sslmode=require` or libpq's `key=value` form. It
/// holds a password: printing it shows none of it.
public struct PostgresAddress: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The connection string, word for word.
  package let text: String
  /// Its values by libpq's keywords.
  private let options: [String: String]

  /// Takes a connection string; throws `misconfigured` where libpq cannot read it. Its words are not passed on: they
  /// may quote the password.
  public init(_ text: String) throws(StoreError) {
    guard let found = PQconninfoParse(text, nil) else {
      throw StoreError(.misconfigured, "database URL", "is not a PostgreSQL connection URL")
    }
    defer { PQconninfoFree(found) }
    var options: [String: String] = [:]
    // The array ends with an entry without a keyword.
    var entry = found
    while let keyword = entry.pointee.keyword {
      if let value = entry.pointee.val { options[String(cString: keyword)] = String(cString: value) }
      entry += 1
    }
    self.text = text
    self.options = options
  }

  public var description: String { "<redacted>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: The servers it names

/// One server of those an address names.
package struct PostgresHost: Hashable, Sendable {
  /// A name, an address or a socket's folder; nil for libpq's default.
  package var name: String?
  /// The numeric address to connect to; nil where libpq is to find it by the name.
  package var address: String?
  /// Nil for libpq's default.
  package var port: String?

  package init(name: String? = nil, address: String? = nil, port: String? = nil) {
    self.name = name
    self.address = address
    self.port = port
  }
}

extension PostgresAddress {
  /// How long each server may take, where the address says so (`connect_timeout`). libpq takes 1 for 2, and 0 for no limit.
  package var timeout: Duration? {
    guard let seconds = options["connect_timeout"].flatMap({ Int64($0) }), seconds > 0 else { return nil }
    return .seconds(max(2, seconds))
  }

  /// The servers in their order; nil if libpq takes them from elsewhere, or will report a mistake in them.
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

  /// Whether it selects among several servers by their abilities (`target_session_attrs`). Then libpq refuses the others.
  package var saysWhichServer: Bool { options["target_session_attrs"] != nil }

  /// The parameters for libpq to connect to one server; for nil to any of them.
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

  /// The parts of a list; an empty part stands for libpq's default.
  private func list(_ keyword: String) -> [String?] {
    guard let text = options[keyword], !text.isEmpty else { return [] }
    return text.split(separator: ",", omittingEmptySubsequences: false).map { $0.isEmpty ? nil : String($0) }
  }
}
