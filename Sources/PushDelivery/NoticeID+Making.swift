// Derives the IDs of notifications from the store key.

import Gate
package import JOSE
package import Notices
import Sealing
import Store

extension NoticeID {
  /// Creates an ID from the store key and 16 random bytes, so that neither alone reveals it.
  static func make(_ keys: StoreKeys) throws(OpenSSLError) -> NoticeID {
    while true {
      if let id = NoticeID(keys, info: try RandomBytes.make(16)) { return id }
    }
  }

  /// The ID of a callback's notification: derived from the store key, the callback, the action and the serial
  /// number, so that each attempt and each instance gets the same ID. A callback's ID has 74 random bits, and
  /// does not reveal the notification's ID.
  static func make(_ keys: StoreKeys, for notice: DueNotice) -> NoticeID {
    let name = Array("\(notice.record.id) \(notice.action.rawValue) \(notice.serial) ".utf8)
    var attempt: UInt8 = 0
    while true {
      if let id = NoticeID(keys, info: name + [attempt]) { return id }
      attempt += 1
    }
  }

  /// The ID of the notification that a device was replaced. An installation gets one ID a minute, so that a
  /// phone that registers many devices in a row creates few IDs.
  static func make(_ keys: StoreKeys, for replaced: StoredDevice, at now: Instant) -> NoticeID {
    let installation = replaced.installation
    let name = Array("device \(installation.id) \(installation.generation) \(now.seconds / 60) ".utf8)
    var attempt: UInt8 = 0
    while true {
      if let id = NoticeID(keys, info: name + [attempt]) { return id }
      attempt += 1
    }
  }

  /// Nil if too many bytes are skipped.
  private init?(_ keys: StoreKeys, info: [UInt8]) {
    // Derive a few bytes more than needed. Bytes from 252 on are skipped, because they would make some
    // characters more likely.
    let bytes = keys.derived(.notice, info: info, count: 48).exposedBytes()
    let characters = bytes.lazy.filter { $0 < 252 }.prefix(Self.length).map { byte -> UInt8 in
      let value = byte % 36
      return value < 26 ? 0x41 + value : 0x30 + value - 26
    }
    self.init(String(decoding: Array(characters), as: UTF8.self))
  }

  /// SHA-256 of the ID, the only form of it that the store has.
  package var digest: SHA256Digest { SHA256Digest(of: Array(exposed.utf8)) }
}
