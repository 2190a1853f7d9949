// The device that a request for a callback names, as saved in the store.

import Gate
public import Texts

/// A device that gets the notifications of one callback, in place of an installation's device. Its token is
/// sealed with a store key and tied to the id of the callback, so the store cannot read it.
public struct GivenDevice: Hashable, Sendable {
  /// The service that carries notifications to the device: `fcm`, `apns` or `http`.
  @Exact public private(set) var platform: String
  /// The sealed token. It expires an hour after the latest end of the callback, when no notification is sent
  /// any longer.
  public private(set) var token: SealedCode

  /// A device without an expiry, which is set when the record is saved.
  package init(platform: String, sealed: [UInt8]) {
    self.init(platform: platform, token: SealedCode(sealed, until: Instant(seconds: 0)))
  }

  package init(platform: String, token: SealedCode) {
    self.platform = platform
    self.token = token
  }

  /// The same device, with an expiry for a callback that ends at the latest at `end`, in nanoseconds since
  /// the epoch.
  func lasting(until end: Int64) -> GivenDevice {
    var device = self
    device.token.until = Instant(nanosecondsSinceEpoch: end).advanced(by: CallbackNotices.newsLife)
    return device
  }
}

extension InstallationIdentity {
  /// The stand-in for an installation if a callback's request named a device. No real installation has the
  /// generation -1.
  package static func device(of callback: CallbackID) -> InstallationIdentity {
    InstallationIdentity(InstallationID(callback.id), generation: -1)
  }

  /// Whether this is the stand-in for such a device.
  package var isDevice: Bool { generation < 0 }
}
