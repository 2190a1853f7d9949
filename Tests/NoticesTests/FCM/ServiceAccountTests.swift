// Tests of the messages about an unusable service account file.

import JOSE
import JSON
import Testing

@testable import Notices

extension ServiceAccount {
  /// The members of a valid file.
  static func members(_ key: PrivateKey) throws -> JSONObject {
    [
      "type": "service_account", "project_id": "shop-1", "private_key_id": "0f1e2d",
      "private_key": .string(try key.pem().exposedString()),
      "client_email": "push@shop-1.iam.gserviceaccount.com",
      "token_uri": "https://oauth2.googleapis.com/token", "universe_domain": "googleapis.com",
    ]
  }
}

@Suite struct ServiceAccountTests {
  private static let key = Result { try PrivateKey.generate(for: .RS256) }

  private func problem(_ content: [UInt8]) -> String? {
    do throws(NoticeSettingError) {
      _ = try ServiceAccount(parsing: content)
      return nil
    } catch {
      #expect(error.setting == "service_account_file")
      #expect(error.words.contains("Firebase console"))
      return error.words
    }
  }

  @Test func `a right file is taken, and its project is in the URL`() throws {
    let account = try ServiceAccount(parsing: try ServiceAccount.members(Self.key.get()).serialized())
    #expect(FCMSettings(account).url == "https://fcm.googleapis.com/v1/projects/shop-1/messages:send")
    #expect(FCMSettings(account).access.tokenURL == "https://oauth2.googleapis.com/token")
    let moved = FCMSettings(account, url: "http://127.0.0.1:1/", tokenURL: "http://127.0.0.1:2/token")
    #expect(moved.url == "http://127.0.0.1:1/v1/projects/shop-1/messages:send")
    #expect(moved.access.tokenURL == "http://127.0.0.1:2/token")
  }

  @Test(arguments: ["project_id", "client_email", "private_key_id", "token_uri", "private_key", "type"])
  func `a member that is missing is named`(name: String) throws {
    var members = try ServiceAccount.members(Self.key.get())
    members[name] = nil
    #expect(problem(members.serialized())?.contains(name == "type" ? "service_account" : name) == true)
  }

  @Test(arguments: [
    ("project_id", "shop/1"), ("project_id", ""), ("client_email", "a b"), ("type", "authorized_user"),
    ("private_key", "-----BEGIN"), ("private_key_id", "a b"), ("token_uri", "https://é"),
  ])
  func `a member that is wrong is named`(name: String, value: String) throws {
    var members = try ServiceAccount.members(Self.key.get())
    members[name] = .string(value)
    #expect(problem(members.serialized())?.contains(name) == true)
  }

  @Test func `a key that cannot sign with RS256, and a file that is none, are refused`() throws {
    let members = try ServiceAccount.members(PrivateKey.generate(for: .ES256))
    #expect(problem(members.serialized())?.contains("P-256") == true)
    #expect(problem(Array("-----BEGIN PRIVATE KEY-----".utf8))?.contains("not JSON") == true)
    #expect(problem(Array("[]".utf8))?.contains("not a JSON object") == true)
  }
}
