// What is left of allowances, as fields of an answer (draft-ietf-httpapi-ratelimit-headers-10).

internal import Gate
internal import HTTP

extension Fields {
  /// Adds `RateLimit-Policy` and `RateLimit`, where there is an allowance to tell of.
  mutating func append(allowances statuses: [AllowanceStatus]) {
    guard !statuses.isEmpty else { return }
    append("RateLimit-Policy", statuses.rateLimitPolicy)
    append("RateLimit", statuses.rateLimit)
  }
}
