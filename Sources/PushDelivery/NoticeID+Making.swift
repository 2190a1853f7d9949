// Makes the ids of notices from the store key.

import JOSE
import Notices
import Sealing

extension NoticeID {
  /// A new id: derived from the store key and 16 random bytes, so that neither of the two alone tells it.
  static func make(_ keys: StoreKeys) throws(OpenSSLError) -> NoticeID {
    while true {
      let random = try RandomBytes.make(16)
      // A few bytes more than needed: those that would make some characters likelier are left out.
      let bytes = keys.derived(.notice, info: random, count: 48).exposedBytes()
      let characters = bytes.lazy.filter { $0 < 252 }.prefix(length).map { byte -> UInt8 in
        let value = byte % 36
        return value < 26 ? 0x41 + value : 0x30 + value - 26
      }
      if let id = NoticeID(String(decoding: Array(characters), as: UTF8.self)) { return id }
    }
  }

  /// By what the store knows it.
  var digest: SHA256Digest { SHA256Digest(of: Array(exposed.utf8)) }
}
