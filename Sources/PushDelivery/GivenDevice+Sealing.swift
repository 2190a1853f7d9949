// Seals the devices that callback requests name, and opens them to send notifications.

package import JOSE
package import Notices
package import Sealing
package import Store

extension GivenDevice {
  /// Seals the token of a device for one callback.
  package init(_ token: DeviceAddress, of id: CallbackID, _ keys: StoreKeys) throws(OpenSSLError) {
    self.init(
      platform: token.platform.rawValue,
      sealed: try keys.seal(Array(token.exposed.utf8), for: .device, associated: id.bytes))
  }

  /// The token; nil if it cannot be opened, such as after the store key was removed, or if it is no token of
  /// a provider that this release knows. The server can then not send the notification.
  func opened(for id: CallbackID, _ keys: StoreKeys) -> DeviceAddress? {
    do throws(StoreKeys.Failure) {
      let text = String(
        decoding: try keys.open(token.sealed, for: .device, associated: id.bytes), as: UTF8.self)
      return PushPlatform(rawValue: platform).flatMap { DeviceAddress(text, platform: $0) }
    } catch {
      return nil
    }
  }
}
