// The settings of one Sendbird application.

package import JOSE

/// The settings of one Sendbird application.
package struct SendbirdSettings: Sendable {
  /// The base URL of the platform API, without a slash at the end. `/v3/…` is appended.
  package let url: String
  /// The master token. The server sends it only to `url`, in the header `Api-Token`.
  package let apiToken: Secret
  /// The lifetime of session tokens.
  package let tokenLife: Duration
  /// The time limit of all requests for one token together.
  package let deadline: Duration
  /// The settings for tickets; nil for a desk without tickets.
  package let desk: Desk?

  /// Sendbird Desk, whose API has a host and a token of its own.
  package struct Desk: Sendable {
    /// The base URL of the desk's platform API, without a slash at the end. `/platform/v1/…` is appended.
    package let url: String
    /// The desk's API token. The server sends it only to `url`, in the header `SENDBIRDDESKAPITOKEN`.
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
