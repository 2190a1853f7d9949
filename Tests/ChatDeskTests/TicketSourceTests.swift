// Tests of the requests that open a ticket, and of how each failure is reported.

import Gate
import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing
import Tokens

@testable import ChatDesk

@Suite struct TicketSourceTests {
  private let time = ManualTime()

  private static let settings = SendbirdSettings(
    url: "https://api-app.sendbird.com", apiToken: Secret("master"), tokenLife: .seconds(3600),
    deadline: .seconds(10),
    desk: .init(url: "https://desk-api-app.sendbird.com", apiToken: Secret("desk-master")))
  private static let ticket = NewTicket(
    title: "t", message: "m", customFields: [.init(name: "a", value: "b")], priority: .high, groupKey: "g",
    relatedChannels: ["x", "y"])
  private static let created = ScriptedTransport.Answer.status(200, #"{"id":7,"channelUrl":"c/1"}"#)

  private func source(_ transport: ScriptedTransport) -> TicketSource {
    TicketSource(
      SendbirdAPI(Self.settings, transport: transport, time: time, retry: .never), time: time, jitter: { 0 })
  }

  private func open(
    _ source: TicketSource, _ ticket: NewTicket = ticket, within span: Duration = .seconds(10)
  ) async throws -> String {
    let outcome = await source.open(
      ticket, try grant("ann", .ticket), of: user("ann"), CustomerID(number: 5), deadline: time.now + span)
    return switch outcome {
    case .opened(let opened, let isSent): "opened \(opened.id) \(opened.channelURL) \(isSent)"
    case .notOpened(.rejected): "rejected"
    case .notOpened(.late): "late"
    case .notOpened(.failed(let error)): Desk.words(error)
    case .unknown(let isAnswered): isAnswered ? "unknown, answered" : "unknown"
    }
  }

  @Test func `each token goes to its own host only, and a ticket has a connection of its own`() async throws {
    let transport = ScriptedTransport { number, _ in number == 0 ? Self.created : .status(200, "{}") }
    #expect(try await open(source(transport)) == "opened 7 c/1 true")
    let requests = transport.requests
    #expect(
      requests.map(\.url) == [
        "https://desk-api-app.sendbird.com/platform/v1/tickets",
        "https://api-app.sendbird.com/v3/group_channels/c%2F1/messages",
      ])
    #expect(requests[0].fields["SENDBIRDDESKAPITOKEN"] == "desk-master")
    #expect(requests[0].fields["Api-Token"] == nil)
    #expect(requests[1].fields["Api-Token"] == "master")
    #expect(requests[1].fields["SENDBIRDDESKAPITOKEN"] == nil)
    #expect(requests.someAndAll { $0.reuse == .never && $0.method == .post })
    #expect(
      try requests[0].members == [
        "channelName": "t", "customerId": 5, "groupKey": "g", "customFields": #"{"a":"b"}"#,
        "priority": "HIGH", "relatedChannelUrls": "x,y",
      ])
    #expect(try requests[1].members == ["message_type": "MESG", "user_id": "ann", "message": "m"])
  }

  @Test func `a ticket without a message is one request`() async throws {
    let transport = ScriptedTransport { _, _ in Self.created }
    let plain = NewTicket(
      title: "t", message: nil, customFields: [], priority: nil, groupKey: nil, relatedChannels: [])
    #expect(try await open(source(transport), plain) == "opened 7 c/1 false")
    #expect(try transport.requests.map { try $0.members } == [["channelName": "t", "customerId": 5]])
  }

  @Test(
    arguments: [
      (.status(400, #"{"detail":"no"}"#), "rejected"), (.status(422, ""), "rejected"),
      (.error(400_111), "rejected"), (.error(400_201), "rejected"),
      (.status(401, ""), "failed refused 30000"), (.status(403, ""), "failed refused 1000"),
      (.status(404, ""), "failed refused 1000"), (.error(400_401), "failed refused 30000"),
      (.error(500_910, fields: ["Retry-After": "7"]), "failed rate_limited 7000"),
      (.status(429, ""), "failed rate_limited 5000"), (.status(503, ""), "failed unavailable 500"),
      (.status(500, ""), "unknown, answered"), (.status(502, ""), "unknown, answered"),
      (.status(408, ""), "unknown, answered"), (.error(500_901), "unknown, answered"),
      (.status(302, ""), "unknown, answered"), (.status(200, "<html>"), "unknown, answered"),
      (.status(200, "{}"), "unknown, answered"), (.status(200, #"{"id":7}"#), "unknown, answered"),
      (.status(201, #"{"id":7,"channelUrl":"a b"}"#), "unknown, answered"),
    ] as [(ScriptedTransport.Answer, String)])
  func `an answer to the creation has one meaning, and none brings a second request`(
    _ answer: ScriptedTransport.Answer, _ expected: String
  ) async throws {
    let transport = ScriptedTransport { _, _ in answer }
    #expect(try await open(source(transport)) == expected)
    #expect(transport.count == 1)
  }

  @Test func `a broken request is unknown once a byte of it may have left`() async throws {
    for (reason, sent, expected) in [
      (TransportError.Reason.connect, false, "failed unreachable 500"),
      (.nameResolution, false, "failed unreachable 500"), (.connectionLost, true, "unknown"),
      (.connectionLost, false, "failed unreachable 500"), (.timedOut, true, "unknown"),
      (.timedOut, false, "failed timed_out 500"), (.overloaded, false, "overloaded 1000"),
    ] {
      let transport = ScriptedTransport { _, _ in
        .fail(TransportError(reason, sent: sent, detail: ""))
      }
      #expect(try await open(source(transport)) == expected)
      #expect(transport.count == 1)
    }
  }

  @Test func `a first message that fails is told, and is not sent again`() async throws {
    for answer in [ScriptedTransport.Answer.error(400_201), .status(500, ""), .status(401, "")] {
      let transport = ScriptedTransport { number, _ in number == 0 ? Self.created : answer }
      #expect(try await open(source(transport)) == "opened 7 c/1 false")
      #expect(transport.count == 2)
    }
  }

  @Test func `too late, the desk is not asked`() async throws {
    let transport = ScriptedTransport { _, _ in Self.created }
    #expect(try await open(source(transport), within: .milliseconds(250)) == "late")
    #expect(transport.count == 0)
  }

  private func customer(_ source: TicketSource, of subject: String = "ann") async -> String {
    do throws(TokenError) {
      return "\(try await source.customer(of: user(subject), deadline: time.now + .seconds(10)).number)"
    } catch {
      return Desk.words(error)
    }
  }

  @Test func `a customer is found, or made together with the user`() async throws {
    let known = ScriptedTransport { _, _ in .status(200, #"{"results":[{"id":9}]}"#) }
    #expect(await customer(source(known)) == "9")
    #expect(known.requests.map(\.method) == [.get])
    #expect(
      known.requests[0].url == "https://desk-api-app.sendbird.com/platform/v1/customers?sendbird_id=ann")
    let unknown = ScriptedTransport { number, _ in
      switch number {
      case 0, 3: .status(200, #"{"results":[]}"#)
      case 1: .error(400_201)
      case 2: .status(200, "{}")
      default: .status(200, #"{"id":3}"#)
      }
    }
    #expect(await customer(source(unknown)) == "3")
    #expect(
      unknown.requests.map { $0.url.replacing(".sendbird.com", with: "") } == [
        "https://desk-api-app/platform/v1/customers?sendbird_id=ann",
        "https://desk-api-app/platform/v1/customers", "https://api-app/v3/users",
        "https://desk-api-app/platform/v1/customers?sendbird_id=ann",
        "https://desk-api-app/platform/v1/customers",
      ])
  }

  @Test(
    arguments: [
      (#"{"results":[{"id":9,"sendbirdId":"ann"}]}"#, "9"),
      (#"{"results":[{"id":1,"sendbirdId":"bob"},{"id":9,"sendbirdId":"ann"}]}"#, "9"),
      (#"{"results":[{"id":1,"sendbird_id":"ann-2"}]}"#, "3"), (#"{"results":[{"id":1},{"id":2}]}"#, "3"),
    ])
  func `another user's customer is never taken`(_ found: String, _ expected: String) async throws {
    let transport = ScriptedTransport { number, _ in .status(200, number == 0 ? found : #"{"id":3}"#) }
    #expect(await customer(source(transport)) == expected)
  }

  @Test func `a refusal without a code of one user's text concerns that ticket only`() async throws {
    let transport = ScriptedTransport { number, _ in number == 0 ? .status(403, "<html>") : Self.created }
    let source = source(transport)
    #expect(try await open(source) == "failed refused 1000")
    #expect(source.isWell)
    #expect(try await open(source).hasPrefix("opened 7 c/1"))
  }

  @Test func `a desk's 404 without a code concerns every user once two others have met it`() async throws {
    let transport = ScriptedTransport { _, _ in .status(404, "<html>") }
    let source = source(transport)
    for name in ["ann", "ann", "bob"] {
      #expect(await customer(source, of: name) == "failed refused 1000")
      #expect(source.isWell)
    }
    #expect(await customer(source, of: "cyd") == "failed refused 30000")
    #expect(!source.isWell)
    #expect(await customer(source, of: "dan") == "cooling refused 30000")
  }

  @Test func `the name of a user that Sendbird does not know becomes the nickname`() async throws {
    let transport = ScriptedTransport { number, _ in
      switch number {
      case 0: .status(200, #"{"results":[]}"#)
      case 1: .error(400_201)
      case 3: .status(200, #"{"results":[]}"#)
      default: .status(200, #"{"id":9}"#)
      }
    }
    let found = try await source(transport).customer(
      of: user("ann"), named: "Ann Ünal", deadline: time.now + .seconds(10))
    #expect(found.number == 9)
    let created = try #require(transport.requests.first { $0.url.hasSuffix("/v3/users") })
    #expect(
      try created.members == ["user_id": "ann", "nickname": "Ann Ünal", "profile_url": ""])
  }

  @Test(arguments: [
    (ScriptedTransport.Answer.status(200, #"{"nickname":""}"#), ["GET", "PUT"]),
    (.status(200, #"{"nickname":"Ann of old"}"#), ["GET"]), (.error(400_201), ["GET"]),
    (.status(500, ""), ["GET"]),
  ]) func `a user who has a token but no nickname gets the name that the ticket has, and no other one`(
    _ reply: ScriptedTransport.Answer, _ methods: [String]
  ) async throws {
    let transport = ScriptedTransport { number, _ in
      number == 0 ? .status(200, #"{"results":[{"id":9,"sendbirdId":"ann"}]}"#) : reply
    }
    let found = try await source(transport).customer(
      of: user("ann"), named: "Ann Ünal", deadline: time.now + .seconds(10))
    #expect(found.number == 9)
    let requests = transport.requests.dropFirst()
    #expect(requests.map(\.method.rawValue) == methods)
    #expect(requests.someAndAll { $0.url == "https://api-app.sendbird.com/v3/users/ann" })
    #expect(requests.someAndAll { $0.fields["Api-Token"] == "master" })
    if methods.count == 2 { #expect(try requests.last?.members == ["nickname": "Ann Ünal"]) }
  }

  @Test func `without a name no nickname is read`() async throws {
    let transport = ScriptedTransport { _, _ in
      .status(200, #"{"results":[{"id":9,"sendbirdId":"ann"}]}"#)
    }
    #expect(await customer(source(transport)) == "9")
    #expect(transport.count == 1)
  }

  @Test func `a refused token cools down, and another token ends that`() async throws {
    let transport = ScriptedTransport { _, _ in .status(401, "") }
    let source = source(transport)
    #expect(await customer(source) == "failed refused 30000")
    #expect(!source.isWell)
    #expect(await customer(source) == "cooling refused 30000")
    #expect(transport.count == 1)
    source.reconfigure(Self.settings)
    #expect(await customer(source) == "cooling refused 30000")
    source.reconfigure(
      SendbirdSettings(
        url: Self.settings.url, apiToken: Secret("master"), tokenLife: .seconds(3600),
        deadline: .seconds(10),
        desk: .init(url: "https://desk-api-app.sendbird.com", apiToken: Secret("other"))))
    #expect(source.isWell)
    #expect(await customer(source) == "failed refused 30000")
    #expect(transport.count == 2)
  }
}
