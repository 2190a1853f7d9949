/// A field name for lookups, stored in lower case with its hash, so that a lookup compares one number per
/// line.
public struct FieldName: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name's octets in lower case.
  let octets: [UInt8]
  /// `FieldName.hash` of the octets.
  let hash: UInt32

  /// Makes a name; case does not matter.
  public init(_ name: String) {
    octets = name.utf8.map(\.lowercasedASCII)
    var hash = Self.hashSeed
    for octet in octets { Self.mix(octet, into: &hash) }
    self.hash = hash
  }

  public init(stringLiteral value: String) { self.init(value) }

  /// The name in lower case.
  public var description: String { String(decoding: octets, as: UTF8.self) }

  // FNV-1a. A collision only costs a comparison, because the octets are compared as well.
  @inline(__always) static var hashSeed: UInt32 { 2_166_136_261 }
  @inline(__always) static func mix(_ octet: UInt8, into hash: inout UInt32) {
    hash = (hash ^ UInt32(octet.lowercasedASCII)) &* 16_777_619
  }
}

extension FieldName {
  public static let accept = FieldName("Accept")
  public static let accessControlRequestMethod = FieldName("Access-Control-Request-Method")
  public static let apiKey = FieldName("apikey")
  public static let authorization = FieldName("Authorization")
  public static let contentEncoding = FieldName("Content-Encoding")
  public static let contentType = FieldName("Content-Type")
  public static let dpop = FieldName("DPoP")
  public static let host = FieldName("Host")
  public static let idempotencyKey = FieldName("Idempotency-Key")
  public static let ifNoneMatch = FieldName("If-None-Match")
  public static let origin = FieldName("Origin")
  public static let traceparent = FieldName("traceparent")
  public static let userAgent = FieldName("User-Agent")
  public static let xAPIKey = FieldName("X-API-Key")
  public static let xFirebaseAppCheck = FieldName("X-Firebase-AppCheck")
  public static let xForwardedFor = FieldName("X-Forwarded-For")
  public static let xForwardedProto = FieldName("X-Forwarded-Proto")
  public static let xRequestID = FieldName("X-Request-Id")
}
