// Finds the callback terms of each app.

package import Configuration

/// The callback terms of every app, prepared when a configuration is loaded.
package struct CallbackTermsTable: Sendable {
  private let own: [String: CallbackTerms]
  private let usual: CallbackTerms

  package init(_ configuration: Configuration) {
    usual = CallbackTerms(app: nil, configuration)
    own = Dictionary(
      uniqueKeysWithValues: configuration.apps.map { ($0.id, CallbackTerms(app: $0, configuration)) })
  }

  /// The terms of an app, or of requests without one.
  package func terms(of appID: String?) -> CallbackTerms { appID.flatMap { own[$0] } ?? usual }
}
