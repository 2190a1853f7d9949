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

  package init(url: String, apiToken: Secret, tokenLife: Duration, deadline: Duration) {
    self.url = url
    self.apiToken = apiToken
    self.tokenLife = tokenLife
    self.deadline = deadline
  }
}
