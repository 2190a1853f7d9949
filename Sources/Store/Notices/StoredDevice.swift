// The device that gets the push notifications of an installation, as the store saves it.

public import Gate
package import JOSE
public import Texts

/// The device of an installation. Anyone with the token can push to the device, so it prints as `<redacted>`.
public struct StoredDevice: Hashable, Sendable {
  /// The installation. It has one device at most.
  public let installation: InstallationIdentity
  /// The service that carries notices to the device: `fcm`, `apns` or `http`.
  @Exact public private(set) var platform: String
  /// The name by which that service knows the device.
  @Exact public private(set) var token: String
  /// When the installation registered it.
  public let registered: Instant

  public init(installation: InstallationIdentity, platform: String, token: String, registered: Instant) {
    self.installation = installation
    self.platform = platform
    self.token = token
    self.registered = registered
  }

  /// Whether the integrator has chosen the name. Other names come from their provider and cannot be guessed.
  package var isNamedByApp: Bool { platform == "http" }

  /// How long a webhook's name stays with an installation that registered it or got a notice through it.
  package static let nameLife = Duration.seconds(86_400)
  /// The most webhook names that the store keeps for an installation.
  package static let mostNames = 8

  /// Identifies platform and token. Tokens themselves are too long for an index of PostgreSQL.
  package var name: SHA256Digest { SHA256Digest(of: Array("\(platform)\0\(token)".utf8)) }
}

/// The result of `registerDevice`.
public enum DeviceRegistration: Hashable, Sendable {
  /// The installation has the device. `replaced` is its earlier device, if that was another one.
  indirect case registered(replaced: StoredDevice?)
  /// Nothing was changed: an installation of another owner uses the name of this webhook.
  case taken
  /// Nothing was changed: the installation was revoked or replaced.
  case ended
}

extension StoredDevice: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "\(platform) device of \(installation): <redacted>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
