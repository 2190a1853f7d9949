// The device that gets the push notifications of an installation, as saved in the store.

public import Gate
package import JOSE
public import Texts

/// The device of an installation. Anyone with its token can send it notifications, so the token is never
/// printed.
public struct StoredDevice: Hashable, Sendable {
  /// The installation that registered the device. It has at most one device.
  public let installation: InstallationIdentity
  /// The service that carries notifications to the device: `fcm`, `apns` or `http`.
  @Exact public private(set) var platform: String
  /// The name by which that service knows the device.
  @Exact public private(set) var token: String
  /// When the installation registered the device.
  public let registered: Instant

  public init(installation: InstallationIdentity, platform: String, token: String, registered: Instant) {
    self.installation = installation
    self.platform = platform
    self.token = token
    self.registered = registered
  }

  /// Whether the integrator chose the device's name: a webhook's name. Other names come from their provider
  /// and cannot be guessed.
  package var isNamedByApp: Bool { platform == "http" }

  /// How long a webhook's name stays with an installation after the installation registered it or got a
  /// notification through it.
  package static let nameLife = Duration.seconds(86_400)
  /// The maximum number of webhook names that the store saves for an installation.
  package static let mostNames = 8

  /// A digest of platform and token. Tokens themselves are too long for an index of PostgreSQL.
  package var name: SHA256Digest { SHA256Digest(of: Array("\(platform)\0\(token)".utf8)) }
}

/// The result of `registerDevice`.
public enum DeviceRegistration: Hashable, Sendable {
  /// The device is registered. `replaced` is the installation's earlier device, if that was another one.
  indirect case registered(replaced: StoredDevice?)
  /// Nothing was changed: an installation of another owner uses the name of this webhook.
  case taken
  /// Nothing was changed: the installation was revoked or replaced, or is unknown.
  case ended
}

extension StoredDevice: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "\(platform) device of \(installation): <redacted>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
