// The settings of one Sendbird application.

package import JOSE

/// One Sendbird application and how this server asks it.
package struct SendbirdSettings: Sendable {
  /// The base of the platform API: `/v3/…` is appended. No slash at the end.
  package let url: String
  /// The master token. It leaves the process only in the header `Api-Token` to `url`.
  package let apiToken: Secret
  /// How long session tokens live.
  package let tokenLife: Duration
  /// How long all requests for one token may take together.
  package let deadline: Duration
  /// How tickets are created; nil for a desk without tickets.
  package let desk: Desk?

  /// Sendbird Desk, whose API has a host and a token of its own.
  package struct Desk: Sendable {
    /// The base of the desk's platform API: `/platform/v1/…` is appended. No slash at the end.
    package let url: String
    /// The desk's API token. It leaves the process only in the header `SENDBIRDDESKAPITOKEN` to `url`.
    package let apiToken: Secret

    package init(url: String, apiToken: Secret) {
      self.url = url
      self.apiToken = apiToken
    }
  }

  package init(
    url: String, apiToken: Secret, tokenLife: Duration, deadline: Duration, desk: Desk? = nil
  ) {
    self.url = url
    self.apiToken = apiToken
    self.tokenLife = tokenLife
    self.deadline = deadline
    self.desk = desk
  }
}
