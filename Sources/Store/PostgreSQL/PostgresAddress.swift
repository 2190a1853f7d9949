// Where a PostgreSQL server is, as the operator wrote it.

internal import CLibPQ

/// A connection string, `postgres://user:password@host/database?sslmode=require` or libpq's `key=value` form. It
/// holds a password: printing it shows none of it.
public struct PostgresAddress: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// What libpq gets, word for word.
  let text: String

  /// Takes a connection string; throws `misconfigured` where libpq cannot read it. Its words are not passed on: they
  /// may quote the password.
  public init(_ text: String) throws(StoreError) {
    guard let options = PQconninfoParse(text, nil) else {
      throw StoreError(.misconfigured, "database URL", "is not a PostgreSQL connection URL")
    }
    PQconninfoFree(options)
    self.text = text
  }

  public var description: String { "<redacted>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
