// Makes the ids of notices from the store key.

import Gate
package import JOSE
package import Notices
import Sealing
import Store

extension NoticeID {
  /// A new id: derived from the store key and 16 random bytes, so that neither of the two alone tells it.
  static func make(_ keys: StoreKeys) throws(OpenSSLError) -> NoticeID {
    while true {
      if let id = NoticeID(keys, info: try RandomBytes.make(16)) { return id }
    }
  }

  /// The id of a callback's notice: derived from the store key, the callback, the action and the serial number, so that each try and
  /// each instance has the same. An id of a callback has 74 random bits, and who knows it cannot tell the notice's id.
  static func make(_ keys: StoreKeys, for notice: DueNotice) -> NoticeID {
    let name = Array("\(notice.record.id) \(notice.action.rawValue) \(notice.serial) ".utf8)
    var attempt: UInt8 = 0
    while true {
      if let id = NoticeID(keys, info: name + [attempt]) { return id }
      attempt += 1
    }
  }

  /// The id of the notice that a device was replaced: one for an installation and a minute, so that a phone that registers one device
  /// after the other makes few.
  static func make(_ keys: StoreKeys, for replaced: StoredDevice, at now: Instant) -> NoticeID {
    let installation = replaced.installation
    let name = Array("device \(installation.id) \(installation.generation) \(now.seconds / 60) ".utf8)
    var attempt: UInt8 = 0
    while true {
      if let id = NoticeID(keys, info: name + [attempt]) { return id }
      attempt += 1
    }
  }

  /// Nil where too many bytes are left out.
  private init?(_ keys: StoreKeys, info: [UInt8]) {
    // A few bytes more than needed: those that would make some characters likelier are left out.
    let bytes = keys.derived(.notice, info: info, count: 48).exposedBytes()
    let characters = bytes.lazy.filter { $0 < 252 }.prefix(Self.length).map { byte -> UInt8 in
      let value = byte % 36
      return value < 26 ? 0x41 + value : 0x30 + value - 26
    }
    self.init(String(decoding: Array(characters), as: UTF8.self))
  }

  /// By what the store knows it.
  package var digest: SHA256Digest { SHA256Digest(of: Array(exposed.utf8)) }
}
