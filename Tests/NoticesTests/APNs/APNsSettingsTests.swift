// Tests of the messages about unusable APNs settings.

import JOSE
import Testing

@testable import Notices

@Suite struct APNsSettingsTests {
  private func problem(
    key: [UInt8]? = nil, keyID: String = "ABC123DEFG", teamID: String = "DEF123GHIJ",
    topic: String = "com.example.shop"
  ) throws -> NoticeSettingError? {
    let good = try PrivateKey.generate(for: .ES256).pem().exposedBytes()
    do throws(NoticeSettingError) {
      _ = try APNsSettings(key: key ?? good, keyID: keyID, teamID: teamID, topic: topic)
      return nil
    } catch {
      return error
    }
  }

  @Test func `right settings are taken`() throws { #expect(try problem() == nil) }

  @Test func `another key than one of P-256 is refused with what it is`() throws {
    let rsa = try PrivateKey.generate(for: .RS256).pem().exposedBytes()
    #expect(try problem(key: rsa)?.setting == "key_file")
    #expect(try problem(key: rsa)?.words.contains("RSA") == true)
    #expect(try problem(key: Array("-----BEGIN CERTIFICATE-----".utf8))?.setting == "key_file")
    #expect(try problem(key: [])?.words.contains("AuthKey_") == true)
  }

  @Test(arguments: ["", "ABC123DEF", "ABC123DEFGH", "abc123defg", "ABC123DEF-"])
  func `ids have ten characters`(id: String) throws {
    #expect(try problem(keyID: id)?.setting == "key_id")
    #expect(try problem(teamID: id)?.setting == "team_id")
  }

  @Test(arguments: ["", "com.example shop", "com.example/shop", "com.exämple.shop"])
  func `a topic is a bundle id`(topic: String) throws {
    #expect(try problem(topic: topic)?.setting == "topic")
  }

  @Test func `the environment or the URL decides where notices go`() throws {
    let key = try PrivateKey.generate(for: .ES256).pem().exposedBytes()
    func base(_ environment: APNsSettings.Environment, _ url: String? = nil) throws -> String {
      try APNsSettings(
        key: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topic: "com.example.shop",
        environment: environment, url: url
      ).base
    }
    #expect(try base(.production) == "https://api.push.apple.com")
    #expect(try base(.sandbox) == "https://api.sandbox.push.apple.com")
    #expect(try base(.sandbox, "https://localhost:8443/") == "https://localhost:8443")
  }
}
