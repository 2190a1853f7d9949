// Makes a token for an operator, and its line for the configuration.

public import JOSE
import JSON

/// A new operator's token.
public struct NewOperator: Sendable {
  /// The token: 256 random bits in hexadecimal. The program does not save it.
  public let token: String
  /// The operator's item of `admin.operators`, with the token's SHA-256.
  public let line: String

  public init(name: String, role: String) throws(OpenSSLError) {
    token = Hex.encode(try RandomBytes.make(32))
    let digest = SHA256Digest(of: Array(token.utf8))
    let name = String(decoding: JSONValue.string(name).serialized(), as: UTF8.self)
    line = #"- { name: \#(name), token_sha256: "\#(Hex.encode(digest.bytes))", role: \#(role) }"#
  }
}
