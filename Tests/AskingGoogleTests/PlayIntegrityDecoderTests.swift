// Tests of how verdicts are requested from Google, on a scripted network.

import HTTP
import JOSE
import JSON
import Notices
import Platform
import Synchronization
import TestSupport
import Testing
import Trust

@testable import AskingGoogle

@Suite(.timeLimit(.minutes(5))) struct PlayIntegrityDecoderTests {
  private static let key = Result { try PrivateKey.generate(for: .RS256) }
  private static let tokenURL = "https://oauth2.googleapis.com/token"
  private static let verdict = """
    {"tokenPayloadExternal":{"requestDetails":{"requestPackageName":"com.example.shop","requestHash":"h","timestampMillis":"1"}}}
    """
  private let time = ManualTime()
  private let words = Words()

  /// The logged messages.
  private final class Words: Sendable {
    private let all = Mutex<[String]>([])
    func add(_ word: String) { all.withLock { $0.append(word) } }
    var count: Int { all.withLock { $0.count } }
  }

  private static func settings(_ url: String? = nil) throws -> PlayIntegritySettings {
    PlayIntegritySettings(try account(), url: url)
  }

  private static func account() throws -> ServiceAccount {
    let account: JSONObject = [
      "type": "service_account", "project_id": "shop-1", "client_email": "play@shop-1.example",
      "private_key_id": "k1", "private_key": .string(try key.get().pem().exposedString()),
      "token_uri": .string(tokenURL),
    ]
    return try ServiceAccount(parsing: account.serialized())
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
    #expect(decoder.service.status.outage == nil)
  }

  @Test func `a token that Google refuses is not an outage`() async throws {
    let (decoder, network) = try decoder { _ in .status(400, "{}") }
    guard case .failure(.refused) = await decoder.verdict(on: "t", of: "com.example.shop") else {
      Issue.record("decoded")
      return
    }
    #expect(decoder.service.status.outage == nil && network.requests.count == 2)
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
    #expect(decoder.service.status.outage == expected && words.count == 1)
  }

  @Test(arguments: ["", "x", "{}", "[]", "{\"tokenPayloadExternal\":1}", "{\"tokenPayloadExternal\":{}}"])
  func `a response that cannot be read is not a verdict`(_ content: String) async throws {
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

  @Test func `an outage ends at the next verdict`() async throws {
    let (decoder, _) = try decoder { $0 == 1 ? .status(500, "{}") : .status(200, Self.verdict) }
    #expect(await outage(decoder) == .unreachable)
    _ = try await decoder.verdict(on: "t", of: "com.example.shop").get()
    #expect(decoder.service.status.outage == nil)
  }

  @Test func `a reload keeps the decoder of the same settings`() throws {
    let kept = KeptGoogle(
      transport: ScriptedTransport { _, _ in .status(500) }, time: time, log: { _ in })
    let settings = try Self.settings()
    let first = try #require(kept.decoder(settings))
    #expect(kept.decoder(settings) === first)
    #expect(kept.decoder(try Self.settings("http://localhost:1")) !== first)
    #expect(kept.decoder(nil) == nil)
  }

  @Test func `a token of App Check is consumed by one request, whatever becomes of it`() async throws {
    func consumed(_ answer: ScriptedTransport.Answer) async throws -> (
      Result<Bool, GoogleService.Failure>, ScriptedTransport
    ) {
      let network = ScriptedTransport { _, request in
        request.url == Self.tokenURL ? .status(200, "{\"access_token\":\"t\",\"expires_in\":3600}") : answer
      }
      let consumer = AppCheckConsumer(
        AppCheckConsumption(try Self.account(), project: "shop-prod"), transport: network, time: time
      ) { _ in }
      return (await consumer.consume("the-token"), network)
    }
    let (first, network) = try await consumed(.status(200, "{}"))
    #expect(first == .success(false))
    let request = try #require(network.requests.last)
    #expect(
      request.url == "https://firebaseappcheck.googleapis.com/v1beta/projects/shop-prod:verifyAppCheckToken")
    #expect(try JSONValue(parsing: Array(request.content)) == ["appCheckToken": "the-token"])
    #expect(try await consumed(.status(200, "{\"alreadyConsumed\":true}")).0 == .success(true))
    #expect(try await consumed(.status(200, "{\"alreadyConsumed\":false}")).0 == .success(false))
    for content in ["{\"alreadyConsumed\":1}", "[]", "x"] {
      #expect(try await consumed(.status(200, content)).0 == .failure(.unavailable(.nonsense)))
    }
    #expect(try await consumed(.status(400, "{}")).0 == .failure(.refused))
    for (status, outage) in [(500, AttestationOutage.unreachable), (429, .quota), (403, .refused)] {
      let (result, network) = try await consumed(.status(status, "{}"))
      #expect(result == .failure(.unavailable(outage)))
      #expect(network.requests.count { $0.url != Self.tokenURL } == 1)
    }
  }
}
