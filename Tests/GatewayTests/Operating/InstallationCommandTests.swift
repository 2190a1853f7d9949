// Tests of what `callgate installations` requests from a server and shows of its responses.

import Documents
import Foundation
import HTTP
import JOSE
import JSON
import Testing
import Upstream

@testable import Diagnosis

@Suite(.serialized, .timeLimit(.minutes(5))) struct InstallationCommandTests {
  private static let token = "canary-operators-token"
  private static let yaml = "apps: { shop: { installations: { authorize: [operator] } } }"

  private func service(_ yaml: String = Self.yaml) throws -> RunningService {
    try RunningService(
      environment: [
        "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass", "CALLGATE_ADMIN_TOKEN": Self.token,
        "CALLGATE_STORE_KEY": String(repeating: "0f", count: 32),
      ], yaml: yaml)
  }

  private func run(_ command: AdminClient.Command, at service: RunningService) async throws -> Result<
    AdminClient.Reply, AdminClient.Failure
  > {
    let transport = try CurlTransport(TransportSettings(proxies: .direct))
    let client = AdminClient(
      AdminDestination(url: service.baseURL, token: Secret(Self.token)), transport: transport)
    let result: Result<AdminClient.Reply, AdminClient.Failure>
    do throws(AdminClient.Failure) { result = .success(try await client.run(command)) } catch {
      result = .failure(error)
    }
    await transport.shutdown()
    return result
  }

  private func refusal(_ command: AdminClient.Command, at service: RunningService) async throws -> String {
    switch try await run(command, at: service) {
    case .failure(.refused(let lines)): return lines.joined(separator: "\n")
    case .failure(.unreachable(let line)): return "unreachable: \(line)"
    default: return "not refused"
    }
  }

  private static let id = "5f1c0b5e-8a77-4a0e-9d2e-0e5a2f6d3c11"

  /// Sends a phone's enrollment request, which then waits for approval, and returns the response.
  private func enrol(_ id: String = Self.id, at service: RunningService, _ more: JSONObject = [:])
    async throws
    -> JSONValue
  {
    var body: JSONObject = [
      "client_id": .string(id), "client_app": "Shop for iOS", "client_detail": "Ann's \"phone\"",
    ]
    for member in more.members { body[member.name] = member.value }
    let response = try await service.ask(
      .post, "/fetch-code", ["Content-Type": "application/json"], content: JSONValue.object(body).serialized()
    )
    return try JSONValue(parsing: response.content)
  }

  @Test func `an operator finds, approves, lists and revokes an installation`() async throws {
    let service = try service()
    let pending = try await enrol(at: service)
    let code = try #require(pending["user_code"]?.string)
    let found = try await run(.findInstallation(userCode: code.lowercased()), at: service).get().lines
    #expect(
      found.prefix(4) == [
        "App            shop", #"Client app     "Shop for iOS""#, #"Client detail  "Ann's \"phone\"""#,
        "Client id      \(Self.id)",
      ])
    #expect(found.contains("Address        127.0.0.1"))
    let waiting = try await run(.installations(state: "pending", after: nil), at: service).get()
    #expect(waiting.lines.count > 1 && !waiting.json.contains(code))
    let approved = try await run(.approveInstallation(userCode: code), at: service).get()
    #expect(approved.lines == ["Approved. The app gets its secret when it next polls."])
    let requestID = try #require(pending["request_id"])
    let delivered = try await enrol(at: service, ["request_id": requestID])
    #expect(delivered["client_secret"] != nil, "\(delivered)")

    let list = try await run(.installations(state: nil, after: nil), at: service).get()
    #expect(list.lines[0] == "CLIENT_ID                             STATE    CREATED (UTC)     APP")
    #expect(list.lines[1].hasPrefix("\(Self.id)  active   20") && list.lines[1].hasSuffix("  shop"))
    #expect(
      list.lines[2].hasPrefix(#"  "Shop for iOS" "Ann's \"phone\""  address 127.0.0.1"#), "\(list.lines)")
    #expect(list.lines.allSatisfy { $0.count <= 80 })
    #expect(list.next == nil && !list.json.contains("\n"))
    #expect(try JSONValue(parsing: Array(list.json.utf8))["state"]?.string == "active")

    let revoked = try await run(.revokeInstallations(.client(Self.id)), at: service).get()
    #expect(revoked.lines == ["Revoked. Every instance refuses the secret within 2 seconds."])
    #expect(
      try await run(.installations(state: "revoked", after: nil), at: service).get().lines.count > 1)
    _ = try await service.end()
  }

  @Test(arguments: 1...4) func `pages of any size show each entry once`(limit: Int) async throws {
    let service = try service()
    var ids = (1...3).map { "5f1c0b5e-8a77-4a0e-9d2e-0e5a2f6d3c1\($0)" }
    for id in ids {
      let pending = try await enrol(id, at: service)
      guard id == ids[0], let code = pending["user_code"]?.string else { continue }
      _ = try await run(.denyInstallation(userCode: code), at: service).get()
    }
    var path: String? = "/admin/installations?limit=\(limit)"
    while let asked = path {
      let page = try JSONValue(
        parsing: await service.ask(.get, asked, ["Authorization": "Bearer \(Self.token)"]).content)
      for entry in try #require(page["installations"]?.array, "\(asked): \(page)") {
        let index = try #require(
          ids.firstIndex { $0 == entry["client_id"]?.string }, "\(entry) is not the first")
        ids.remove(at: index)
      }
      path = page["next"]?.string.map { "/admin/installations?limit=\(limit)&after=\($0)" }
    }
    #expect(ids == [])
    _ = try await service.end()
  }

  @Test func `a denied request delivers nothing`() async throws {
    let service = try service()
    let pending = try await enrol(at: service)
    let code = try #require(pending["user_code"]?.string)
    let denied = try await run(.denyInstallation(userCode: code), at: service).get()
    #expect(denied.lines == ["Denied. The app gets no secret."])
    #expect(try await enrol(at: service, ["request_id": #require(pending["request_id"])])["code"] == "denied")
    _ = try await service.end()
  }

  @Test func `what the server does not know is told apart from a server without operators`() async throws {
    let service = try service()
    #expect(
      try await refusal(.findInstallation(userCode: "BCDF-GHJK"), at: service)
        == "the server refuses this (not_found): Installation or request not found.")
    #expect(
      try await refusal(.findInstallation(userCode: "nope"), at: service).contains("user_code: Give eight"))
    #expect(try await refusal(.revokeInstallations(.subject("ann")), at: service).contains("not_found"))
    _ = try await service.end()
    let plain = try self.service("apps: { shop: {} }")
    #expect(
      try await refusal(.findInstallation(userCode: "BCDF-GHJK"), at: plain).contains(
        "No app on this server has installations."))
    // An empty list is not an error.
    let listed = try await run(.installations(state: nil, after: nil), at: plain).get()
    #expect(listed.lines.count == 1)
    _ = try await plain.end()
    let closed = try RunningService(environment: ["DEFAULT_USERNAME": "a", "DEFAULT_PASSWORD": "canary-pass"])
    #expect(
      try await refusal(.installations(state: nil, after: nil), at: closed).contains(
        "unreachable: there is no admin interface at"))
    _ = try await closed.end()
  }

  @Test func `what a stranger wrote cannot steer the terminal, and fits it`() {
    let long = String(repeating: "word ", count: 50)
    let entry: JSONValue = [
      "client_id": .string(Self.id), "client_app": "a\u{1B}[2J\u{202E}b", "client_detail": .string(long),
      "subject": "c\nd", "app": "shop\u{7}", "state": "active", "address": "203.0.113.7",
      "created_at": "2026-11-22T10:04:31Z", "used_at": "2026-11-22T11:20:00Z",
    ]
    for lines in [InstallationText.lines(entry), InstallationText.found(entry)] {
      let text = lines.joined(separator: " ")
      #expect(text.contains(#""a<U+001B>[2J<U+202E>b""#), "\(text)")
      #expect(text.contains("shop<U+0007>"))
      #expect(
        text.unicodeScalars.allSatisfy {
          ![.control, .format].contains($0.properties.generalCategory)
        })
      #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)")
    }
    #expect(InstallationText.lines(entry).last?.hasSuffix("  used 2026-11-22 11:20") == true)
    #expect(InstallationText.lines(entry).joined().contains(#"subject "c\nd""#))
  }
}
