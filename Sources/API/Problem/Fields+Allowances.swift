// Adds the headers that tell a client how many requests are left (draft-ietf-httpapi-ratelimit-headers-10).

package import Gate
import HTTP

extension Fields {
  /// Adds `RateLimit-Policy` and `RateLimit`, if the request counted against limits. Safety limits (`brakes`)
  /// are left out: they stop abuse, and clients should not plan by them.
  package mutating func append(allowances all: [AllowanceStatus]) {
    let statuses = all.contains(where: \.isBrake) ? all.filter { !$0.isBrake } : all
    guard !statuses.isEmpty else { return }
    append("RateLimit-Policy", statuses.rateLimitPolicy)
    append("RateLimit", statuses.rateLimit)
  }
}
