// Tests of challenges, and of the data that a phone signs.

import JOSE
import Sealing
import Store
import Testing

@testable import Installations

@Suite struct ChallengesTests {
  private let key = StoreKey(Secret([UInt8](repeating: 1, count: 32)))
  private let other = StoreKey(Secret([UInt8](repeating: 2, count: 32)))
  private let now: Int64 = 1_800_000_000

  @Test func `a challenge is good for five minutes`() throws {
    let challenges = Challenges(keys: StoreKeys(current: key))
    let challenge = try challenges.make(for: "shop", at: now)
    #expect(challenge.utf8.count == 43 && Base64URL.decode(challenge)?.count == 32)
    func standing(_ seconds: Int64) -> Challenges.Standing {
      challenges.standing(of: challenge, for: "shop", at: now + seconds)
    }
    #expect(standing(0) == .good && standing(299) == .good)
    // A request that used the challenge at its end may be repeated for ten minutes.
    #expect(standing(300) == .over && standing(299 + 600) == .over)
    #expect(standing(300 + 660) == .foreign)
    // Another instance's clock may be ahead.
    #expect(standing(-60) == .good)
    #expect(standing(-61) == .foreign)
    #expect(try challenges.make(for: "shop", at: now) != challenge)
  }

  @Test func `a challenge of another app, another server or nobody is foreign`() throws {
    let challenges = Challenges(keys: StoreKeys(current: key))
    let challenge = try challenges.make(for: "shop", at: now)
    func standing(_ keys: StoreKeys, _ text: String, _ app: String = "shop") -> Challenges.Standing {
      Challenges(keys: keys).standing(of: text, for: app, at: now)
    }
    #expect(standing(StoreKeys(current: key), challenge, "other") == .foreign)
    #expect(standing(StoreKeys(current: other), challenge) == .foreign)
    // During a rotation, both keys are valid.
    #expect(standing(StoreKeys(current: other, previous: key), challenge) == .good)
    let bytes = try #require(Base64URL.decode(challenge))
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      #expect(standing(StoreKeys(current: key), Base64URL.encode(changed)) == .foreign)
    }
    for text in ["", "x", challenge + "A", String(challenge.dropLast()), String(repeating: "é", count: 43)] {
      #expect(standing(StoreKeys(current: key), text) == .foreign)
    }
  }

  @Test func `a phone signs the request that its attestation is for`() throws {
    let client = InstallationClient(
      id: try #require(InstallationID("6F1C3D52-9A4B-4B7E-8C1D-0E5F7A9B2C44")), app: "Shop é", detail: "ann")
    let key = SHA256Digest(of: Array("key".utf8))
    #expect(
      EnrolmentStatement.text(client, challenge: "c", key: key)
        == "callgate-enrol-1\n6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44\nShop é\nann\nc\n"
        + "LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtoM")
    let bare = InstallationClient(id: client.id, app: "Shop", detail: nil)
    #expect(
      EnrolmentStatement.text(bare, challenge: "c", key: nil)
        == "callgate-enrol-1\n6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44\nShop\n\nc\n")
    #expect(
      Hex.encode(EnrolmentStatement.digest(bare, challenge: "c", key: nil))
        == "5f18fdf5264e34347ac1f4c2c56ae421bf20d2a68d3a317cebd5cf0b7870b737")
  }
}
