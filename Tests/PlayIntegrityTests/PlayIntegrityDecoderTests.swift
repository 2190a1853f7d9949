// Tests of how Google is asked for verdicts, on a scripted network.

import HTTP
import JOSE
import JSON
import Notices
import Platform
import Synchronization
import TestSupport
import Testing
import Trust

@testable import PlayIntegrity

@Suite(.timeLimit(.minutes(5))) struct PlayIntegrityDecoderTests {
  private static let key = Result { try PrivateKey.generate(for: .RS256) }
  private static let tokenURL = "https://oauth2.googleapis.com/token"
  private static let verdict = """
    {"tokenPayloadExternal":{"requestDetails":{"requestPackageName":"com.example.shop","requestHash":"h","timestampMillis":"1"}}}
    """
  private let time = ManualTime()
  private let words = Words()

  /// What was logged.
  private final class Words: Sendable {
    private let all = Mutex<[String]>([])
    func add(_ word: String) { all.withLock { $0.append(word) } }
    var count: Int { all.withLock { $0.count } }
  }

  private static func settings(_ url: String? = nil) throws -> PlayIntegritySettings {
    let account: JSONObject = [
      "type": "service_account", "project_id": "shop-1", "client_email": "play@shop-1.example",
      "private_key_id": "k1", "private_key": .string(try key.get().pem().exposedString()),
      "token_uri": .string(tokenURL),
    ]
    return PlayIntegritySettings(try ServiceAccount(parsing: account.serialized()), url: url)
  }

  /// A network with a token endpoint.
  private func decoder(
    _ answer: @escaping @Sendable (Int) -> ScriptedTransport.Answer
  ) throws -> (PlayIntegrityDecoder, ScriptedTransport) {
    let asked = Mutex(0)
    let network = ScriptedTransport { number, request in
      guard request.url != Self.tokenURL else {
        return .status(200, "{\"access_token\":\"token-\(number)\",\"expires_in\":3600}")
      }
      return answer(
        asked.withLock {
          $0 += 1
          return $0
        })
    }
    return (
      PlayIntegrityDecoder(try Self.settings(), transport: network, time: time) { [words] in words.add($0) },
      network
    )
  }

  private func outage(_ decoder: PlayIntegrityDecoder) async -> AttestationOutage? {
    guard case .failure(.unavailable(let outage)) = await decoder.verdict(on: "t", of: "com.example.shop")
    else {
      return nil
    }
    return outage
  }

  @Test func `a token is decoded by one request with the account's access token`() async throws {
    let (decoder, network) = try decoder { _ in .status(200, Self.verdict) }
    _ = try await decoder.verdict(on: "the-token", of: "com.example.shop").get()
    let request = try #require(network.requests.last)
    #expect(
      request.url == "https://playintegrity.googleapis.com/v1/com.example.shop:decodeIntegrityToken")
    #expect(request.fields["Authorization"] == "Bearer token-0")
    #expect(try JSONValue(parsing: Array(request.content)) == ["integrityToken": "the-token"])
    _ = try await decoder.verdict(on: "another", of: "com.example.shop").get()
    #expect(network.requests.count { $0.url == Self.tokenURL } == 1)
    #expect(decoder.status.outage == nil)
  }

  @Test func `a token that Google refuses is no outage`() async throws {
    let (decoder, network) = try decoder { _ in .status(400, "{}") }
    guard case .failure(.refused) = await decoder.verdict(on: "t", of: "com.example.shop") else {
      Issue.record("decoded")
      return
    }
    #expect(decoder.status.outage == nil && network.requests.count == 2)
  }

  @Test(arguments: [
    (429, AttestationOutage.quota), (403, .refused), (404, .refused), (500, .unreachable),
    (503, .unreachable),
    (408, .unreachable), (302, .nonsense), (204, .nonsense),
  ])
  func `each status is an outage of its kind, which is logged once`(
    _ status: Int, _ expected: AttestationOutage
  )
    async throws
  {
    let (decoder, _) = try decoder { _ in .status(status, "{}") }
    #expect(await outage(decoder) == expected)
    #expect(await outage(decoder) == expected)
    #expect(decoder.status.outage == expected && words.count == 1)
  }

  @Test(arguments: ["", "x", "{}", "[]", "{\"tokenPayloadExternal\":1}", "{\"tokenPayloadExternal\":{}}"])
  func `an answer that cannot be read is no verdict`(_ content: String) async throws {
    let (decoder, _) = try decoder { _ in .status(200, content) }
    #expect(await outage(decoder) == .nonsense)
  }

  @Test func `an access token that Google no longer takes is renewed once`() async throws {
    let (decoder, network) = try decoder { $0 == 1 ? .status(401, "{}") : .status(200, Self.verdict) }
    _ = try await decoder.verdict(on: "t", of: "com.example.shop").get()
    #expect(network.requests.count { $0.url == Self.tokenURL } == 2)
    let (refused, second) = try self.decoder { _ in .status(401, "{}") }
    #expect(await outage(refused) == .refused)
    #expect(second.requests.count { $0.url != Self.tokenURL } == 2)
  }

  @Test func `an outage is over at the next verdict`() async throws {
    let (decoder, _) = try decoder { $0 == 1 ? .status(500, "{}") : .status(200, Self.verdict) }
    #expect(await outage(decoder) == .unreachable)
    _ = try await decoder.verdict(on: "t", of: "com.example.shop").get()
    #expect(decoder.status.outage == nil)
  }

  @Test func `a reload keeps the decoder of the same settings`() throws {
    let kept = KeptPlayIntegrity(
      transport: ScriptedTransport { _, _ in .status(500) }, time: time, log: { _ in })
    let settings = try Self.settings()
    let first = try #require(kept.decoder(settings))
    #expect(kept.decoder(settings) === first)
    #expect(kept.decoder(try Self.settings("http://localhost:1")) !== first)
    #expect(kept.decoder(nil) == nil)
  }
}
