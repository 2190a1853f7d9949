// The device of an installation, as the store keeps it.

public import Gate
package import JOSE
public import Texts

/// What the store keeps of an installation's device. Who has the token can push to the device, so it prints as `<redacted>`.
public struct StoredDevice: Hashable, Sendable {
  /// The installation. It has one device at most.
  public let installation: InstallationID
  /// The service that carries notices to the device: `fcm`, `apns` or `http`.
  @Exact public private(set) var platform: String
  /// The name by which that service knows the device.
  @Exact public private(set) var token: String
  /// When the installation registered it.
  public let registered: Instant

  /// A device.
  public init(installation: InstallationID, platform: String, token: String, registered: Instant) {
    self.installation = installation
    self.platform = platform
    self.token = token
    self.registered = registered
  }

  /// Identifies platform and token. Tokens themselves are too long for an index of PostgreSQL.
  package var name: SHA256Digest { SHA256Digest(of: Array("\(platform)\0\(token)".utf8)) }
}

extension StoredDevice: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "\(platform) device of \(installation): <redacted>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
