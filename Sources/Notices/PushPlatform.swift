// The push providers, by the names that configuration and API use.

/// The service that delivers a notification to a device.
package enum PushPlatform: String, CaseIterable, Sendable {
  /// Firebase Cloud Messaging.
  case fcm
  /// Apple Push Notification service.
  case apns
  /// The operator's own receiver.
  case http

  /// All names, for a sentence: `fcm, apns or http`.
  package static let names: String = {
    let all = allCases.map(\.rawValue)
    return all.dropLast().joined(separator: ", ") + " or " + (all.last ?? "")
  }()
}
