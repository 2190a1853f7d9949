// sources: Texts JSON JOSE HTTP Platform Documents Gate Tokens Talkdesk ChatDesk Notices Callers/Credentials/ClientAddress.swift Callers/Credentials/UntrustedProxy.swift Outcomes/Report/ReportEntries.swift
// about: Talkdesk/Exchange/TokenReply.swift Talkdesk/Exchange/UpstreamText.swift Talkdesk/Callbacks/CallbackRejection.swift Talkdesk/Callbacks/CallbackOutcome.swift Talkdesk/Signer/VaultAnswer.swift ChatDesk/Sendbird/DeskAPI.swift Notices/FCM/FCMAnswer.swift Notices/APNs/APNsAnswer.swift Notices/FCM/ServiceAccount.swift Gate/Kinds/RemoteAnswer.swift Callers/Credentials/ClientAddress.swift Platform/IPAddress.swift HTTP/EventStream.swift Talkdesk/Live/LiveMessage.swift Outcomes/Report/ReportEntries.swift
// without: create in6
// Feeds arbitrary octets to the readers of replies from Talkdesk, Vault, Sendbird, FCM, APNs and policies, and of service account
// files, event streams, call reports and X-Forwarded-For.

/// The input's first octet chooses the reader, the second one the status.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReplies(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 2 else { return 0 }
  let octets = unsafe Array(UnsafeBufferPointer(start: start + 2, count: count - 2))
  let statuses = [200, 201, 202, 204, 400, 401, 403, 404, 408, 410, 429, 500, 503]
  let status = unsafe statuses[Int(start[1]) % statuses.count]
  let reply = InboundResponse(
    status: status, fields: ["Retry-After": String(decoding: octets.prefix(40), as: UTF8.self)],
    content: octets)
  let now = UnixTime(seconds: 1_790_000_000, nanoseconds: 0)
  switch unsafe start[0] % 11 {
  case 0:
    _ = try? TokenReply(parsing: octets, requestedScope: "callback:write")
    _ = TokenReply.refusal(octets)
    _ = UpstreamText.traceID(String(decoding: octets, as: UTF8.self))
  case 1:
    _ = CallbackRejection.read(octets)
    _ = CallbackRejection.error(in: octets)
    let outcome = CallbackOutcome(reply, now: now)
    precondition((outcome.label == "unknown") == (outcome.certainty == .unknown))
  case 2:
    let (ann, text) = (UserID(text: "ann"), String(decoding: octets, as: UTF8.self))
    _ = (DeskAPI.customer(of: UserID(text: text)), DeskAPI.newCustomer(UserID(text: text)))
    _ = DeskAPI.firstMessage(text, of: ann, in: text)
    _ = try? DeskAPI.customer(of: ann, in: octets)
    _ = try? DeskAPI.newCustomer(in: octets)
    _ = try? DeskAPI.ticket(in: octets)
  case 3: _ = FCMAnswer.reaction(reply, now: now)
  case 4: _ = APNsAnswer.reaction(reply, now: now)
  case 5: _ = try? ServiceAccount(parsing: octets)
  case 6:
    // Two pieces and single octets must give the same events.
    let cut = unsafe Int(start[1]) % (octets.count + 1)
    var (pieces, single) = (EventStreamReader(), EventStreamReader())
    let events = try? pieces.take(Array(octets[..<cut])) + pieces.take(Array(octets[cut...]))
    var others: [StreamedEvent]? = []
    for octet in octets {
      guard let found = try? single.take([octet]) else {
        others = nil
        break
      }
      others? += found
    }
    precondition(events == others)
    for event in events ?? [] {
      _ = LiveMessage(event, at: ["result", "value"])
      _ = LiveMessage.paths(event)
    }
  case 7:
    let cut = unsafe Int(start[1]) % (octets.count + 1)
    var (pieces, single) = (ReportEntries(), ReportEntries())
    let entries = try? pieces.take(Array(octets[..<cut])) + pieces.take(Array(octets[cut...]))
    var others: [[UInt8]]? = []
    for octet in octets {
      guard let found = try? single.take([octet]) else {
        others = nil
        break
      }
      others? += found
    }
    precondition(entries == others)
    for entry in entries ?? [] { precondition(entry.count <= ReportEntries.mostBytes) }
  case 9:
    _ = VaultAnswer.signature(in: octets)
    _ = VaultAnswer.key(in: octets)
    _ = VaultAnswer.login(in: octets)
    _ = VaultAnswer.errors(in: octets)
  case 10:
    guard let document = try? JSONValue(parsing: octets) else { return 0 }
    _ = (RemoteAnswer(reading: fact(document)), RemoteAnswer(readingEvaluation: fact(document)))
  default:
    let start = Array("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ".utf8)
    let head = start + octets + Array("\r\nX-Forwarded-Proto: ".utf8) + octets + Array("\r\n\r\n".utf8)
    var parser = RequestParser(limits: MessageLimits())
    var (request, offset) = (Request(), 0)
    guard case .complete = parser.parse(head.span, from: &offset, into: &request),
      let peer = IPAddress("192.0.2.1"), let proxy = try? CIDR("192.0.2.0/24")
    else { return 0 }
    for hops in 1...3 {
      let resolver = ClientAddress(trusted: [proxy], hops: hops)
      _ = resolver.scheme(request, peer: peer)
      let client = resolver.resolve(request, peer: peer)
      precondition(IPAddress(client.description) == client, "an address reads as another")
      _ = (
        client.isLoopback, client.octets, client.client.hasPrefix(peer, length: 24),
        client.client.hasPrefix(client, length: 63)
      )
    }
    _ = IPAddress.isHostName(octets[...])
  }
  return 0
}

private func fact(_ value: JSONValue) -> FactValue {
  switch value {
  case .null: .null
  case .bool(let value): .bool(value)
  case .number(let number): .number(number.text)
  case .string(let text): .string(text)
  case .array(let elements): .array(elements.map(fact))
  case .object(let object): .object(object.members.map { FactMember($0.name, fact($0.value)) })
  }
}
