// Tests of the commands that operate a running server: `status`, `stop`, `resume` and `reload`.

import Certificates
import Foundation
import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing
import Upstream

@testable import Configuration
@testable import Diagnosis
@testable import Gateway
@testable import RoomSupport

/// What the operator commands do with a working server, and with anything else.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AdminClientTests {
  private static let token = "canary-operators-token"
  private let environment = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass", "CALLGATE_ADMIN_TOKEN": token,
  ]

  private func run(
    _ command: AdminClient.Command, _ url: String, token: String? = Self.token
  ) async throws -> Result<AdminClient.Reply, AdminClient.Failure> {
    let transport = try CurlTransport(TransportSettings(proxies: .direct))
    let client = AdminClient(
      AdminDestination(url: url, token: token.map { Secret($0) }), transport: transport)
    let result: Result<AdminClient.Reply, AdminClient.Failure>
    do throws(AdminClient.Failure) { result = .success(try await client.run(command)) } catch {
      result = .failure(error)
    }
    await transport.shutdown()
    return result
  }

  @Test func `a server is stopped, looked at and resumed`() async throws {
    let service = try RunningService(
      environment: environment,
      yaml: "rules: [{ name: daily, kind: quota, key: caller, limit: 5, per: day, mode: audit }]")
    let order = StopOrder(
      scope: "caller", id: "default", action: "callback", reason: "agents are ill", duration: "30m")
    let stopped = try await run(.stop(order), service.baseURL).get()
    #expect(stopped.lines.joined(separator: "\n").contains("callbacks for caller default since 20"))
    #expect(stopped.lines.dropLast().joined(separator: " ").hasSuffix("because: agents are ill"))
    #expect(stopped.lines.last == "To resume: callgate resume --scope caller --id default --action callback")
    let status = try await run(.status, service.baseURL).get()
    #expect(status.lines.someAndAll { $0.count <= 80 }, "\(status.lines)")
    let text = status.lines.joined(separator: "\n")
    for part in [
      "Server         \(service.baseURL)", "Status         pass",
      "Paused         callbacks for caller default",
      "agents are ill", "Runbook: \(service.baseURL)/docs/runbook#callgatestopped",
      "Rules          daily (quota, audit)", "Callers        default",
      "Apps           example-app-ios", "Store          memory", "Keys           ",
    ] {
      #expect(text.contains(part), "\(part) in\n\(text)")
    }
    let document = try JSONValue(parsing: Array(status.json.utf8))
    #expect(document["stops"]?.array?.first?["reason"]?.string == "agents are ill")
    // A resume does not send the reason and the end, which only a stop has.
    let resumed = try await run(.resume(order), service.baseURL).get()
    #expect(resumed.lines == ["Nothing is paused now."])
    #expect(
      try await run(.status, service.baseURL).get().lines.contains("Paused         nothing"))
    _ = try await service.end()
  }

  @Test func `a reload says what serves now, and what is wrong with a new file`() async throws {
    let service = try RunningService(environment: environment, yaml: "tokens: { min_remaining: 60s }")
    #expect(
      try await run(.reload, service.baseURL).get().lines == [
        "The server uses configuration number 2 now."
      ])
    service.rewrite("tokens: { min_remainin: 60s }")
    guard case .failure(.refused(let lines)) = try await run(.reload, service.baseURL) else {
      Issue.record("a wrong file was taken")
      return
    }
    #expect(lines.count == 2)
    #expect(lines[1].contains("CALLGATE_CONFIG_TEXT:1:11: tokens.min_remainin: unknown key"), "\(lines)")
    let text = try await run(.status, service.baseURL).get().lines.joined(separator: "\n")
    #expect(text.contains("Last reload    failed at 20"), "\(text)")
    #expect(text.contains("unknown key"), "\(text)")
    _ = try await service.end()
  }

  @Test func `a refusal says why, and what to give`() async throws {
    let service = try RunningService(environment: environment)
    func refusal(_ command: AdminClient.Command, token: String?) async throws -> String {
      guard case .failure(.refused(let lines)) = try await run(command, service.baseURL, token: token) else {
        return "not refused"
      }
      return lines.joined(separator: "\n")
    }
    #expect(try await refusal(.status, token: nil).contains("give --admin-token-file"))
    #expect(try await refusal(.status, token: "wrong-token").contains("invalid_token"))
    let unknown = StopOrder(scope: "app", id: "example-app-iso", action: "all")
    #expect(
      try await refusal(.stop(unknown), token: Self.token).contains(
        #"id: There is no app "example-app-iso". Did you mean example-app-ios?"#))
    let tooLong = StopOrder(scope: "all", id: nil, action: "all", duration: "30")
    let answer = try await refusal(.stop(tooLong), token: Self.token)
    #expect(answer.hasPrefix("for: ") && answer.contains("30s for seconds"), "\(answer)")
    _ = try await service.end()
    let closed = try RunningService(environment: ["DEFAULT_USERNAME": "a", "DEFAULT_PASSWORD": "canary-pass"])
    guard case .failure(.unreachable(let line)) = try await run(.status, closed.baseURL, token: nil) else {
      Issue.record("a server without operators was asked")
      return
    }
    #expect(line.contains("there is no admin interface at") && line.contains("has no admin:"))
    _ = try await closed.end()
  }

  @Test func `a missing server differs from another program`() async throws {
    let service = try RunningService(environment: environment)
    let url = service.baseURL
    _ = try await service.end()
    #expect(
      try await run(.status, url)
        == .failure(
          .unreachable("no response from \(url): the server refuses connections")))
    guard case .failure(.invalidURL(let detail)) = try await run(.status, "http://calls.example.com") else {
      Issue.record("a token would have gone out in the clear")
      return
    }
    #expect(detail.contains("loopback"))
    struct Scripted: HTTPTransport {
      let response: InboundResponse
      func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse { response }
    }
    for (status, type, content) in [
      (200, "text/html", "<html>"), (404, "text/html", "<html>"), (502, "text/html", "Bad Gateway"),
      (200, "application/json", "[]"), (403, "application/json", "{}"),
    ] {
      let transport = Scripted(
        response: InboundResponse(
          status: status, fields: ["Content-Type": type], content: Array(content.utf8)))
      await #expect(
        performing: {
          try await AdminClient(
            AdminDestination(url: "https://x.example", token: nil), transport: transport
          ).run(.status)
        },
        throws: { error in
          if case .foreign(let text)? = error as? AdminClient.Failure {
            text.contains("check --url")
          } else {
            false
          }
        })
    }
    let overloaded = Scripted(
      response: InboundResponse(
        status: 503, fields: ["Content-Type": "application/problem+json"],
        content: Array(#"{"code":"store_unavailable","detail":"It is stopped here."}"#.utf8)))
    await #expect(
      throws: AdminClient.Failure.unreachable(
        "https://x.example cannot do this now (store_unavailable): It is stopped here.")
    ) {
      try await AdminClient(
        AdminDestination(url: "https://x.example", token: nil), transport: overloaded
      ).run(.status)
    }
  }

  @Test func `what a server says cannot steer the terminal`() {
    let stops: JSONObject = [
      "stops": [["scope": "all", "action": "all", "since": "x", "reason": "a\u{1B}[2Jb\nc \"d\""]]
    ]
    let text = StopText.lines(stops).joined(separator: "\n")
    #expect(!text.unicodeScalars.contains("\u{1B}"))
    #expect(text == #"Paused: everything for everyone since x, because: a<U+001B>[2Jb\nc "d""#)
  }

  // MARK: Where the server is

  private func find(
    _ environment: [String: String] = [:], yaml: String? = nil, url: String? = nil, tokenFile: String? = nil,
    files: [String: String] = [:]
  ) -> Result<AdminDestination, ConfigurationErrors> {
    var environment = environment
    environment["CALLGATE_CONFIG_TEXT"] = yaml
    let sources = ConfigurationSources(
      environment: environment,
      files: Fixture.reader(files.mapValues { ConfigurationFiles.Content(bytes: Array($0.utf8)) }))
    return Result { () throws(ConfigurationErrors) in
      try AdminDestination.find(url: url, tokenFile: tokenFile, sources: sources)
    }
  }

  @Test func `the server is where the configuration says, however wrong the rest of it is`() throws {
    let wrong = "rules: [{ name: x }]\nlisten: { prot: 1 }\n"
    for (yaml, environment, expected) in [
      (nil, [:], "http://127.0.0.1:9091"),
      ("admin: { port: 9200 }", [:], "http://127.0.0.1:9200"),
      ("admin: { host: \"::1\" }", [:], "http://[::1]:9091"),
      (wrong + "admin: { host: 0.0.0.0, token_file: t }", [:], "http://127.0.0.1:9091"),
      // With a token and without an admin listener, the public port serves operators.
      (nil, ["CALLGATE_ADMIN_TOKEN": Self.token, "PORT": "9000"], "http://127.0.0.1:9000"),
      (
        "listen: { host: \"::\", tls: { certificate_file: a, key_file: b } }",
        ["CALLGATE_ADMIN_TOKEN": Self.token], "https://[::1]:8080"
      ),
      (
        "listen: { host: 10.0.0.5, tls: { certificate_file: a, key_file: b } }",
        ["CALLGATE_ADMIN_TOKEN": Self.token], "https://10.0.0.5:8080"
      ),
    ] as [(String?, [String: String], String)] {
      let certificate = TestIdentity("DNS:calls.example.com")
      let files = [
        "t": "canary-token-of-the-file", "a": String(decoding: certificate.certificatePEM, as: UTF8.self),
      ]
      let found = try find(environment, yaml: yaml, files: files).get()
      #expect(found.url == expected)
      // The command can read the server's own certificate, so it pins that key.
      let isTLS = expected.hasPrefix("https")
      #expect(found.pinnedKey == (isTLS ? "sha256//" + certificate.keyPin : nil))
      // If the operator gives the address, its name and a trusted authority are enough.
      let named = try find(environment, yaml: yaml, url: "https://calls.example.com//", files: files).get()
      #expect(named.url == "https://calls.example.com" && named.pinnedKey == nil)
    }
  }

  @Test func `of a chain only the server's own certificate counts`() throws {
    let authority = TestIdentity("", isAuthority: true)
    let own = TestIdentity("DNS:calls.example.com", issuer: authority)
    let chain = String(decoding: own.certificatePEM + authority.certificatePEM, as: UTF8.self)
    let found = try find(
      ["CALLGATE_ADMIN_TOKEN": Self.token],
      yaml: "listen: { tls: { certificate_file: chain, key_file: b } }", files: ["chain": chain]
    ).get()
    #expect(found.pinnedKey == "sha256//" + own.keyPin)
  }

  @Test func `without options a command finds the server of the shipped systemd unit`() throws {
    let text = try String(
      contentsOf: Checkout.root.appending(path: "deploy/systemd/callgate.yaml"), encoding: .utf8)
    let admin = try Fixture.load(text, environment: [:], for: .explain).configuration.admin
    let listener = try #require(admin.listener)
    #expect(listener.isLoopback)
    #expect(try find().get().url == "http://\(listener.host):\(listener.port)")
  }

  @Test func `the token is the flag's, then the environment's, then the file's`() throws {
    let files = ["flag": "canary-flag-token\n", "env": "canary-env-token", "yaml": "canary-yaml-token"]
    let yaml = "admin: { host: 0.0.0.0, token_file: yaml }"
    func token(_ environment: [String: String], _ yaml: String?, _ flag: String?) throws -> String? {
      try find(environment, yaml: yaml, tokenFile: flag, files: files).get().token?.exposedString()
    }
    #expect(try token([:], nil, nil) == nil)
    #expect(try token([:], yaml, nil) == "canary-yaml-token")
    #expect(try token(["CALLGATE_ADMIN_TOKEN_FILE": "env"], yaml, nil) == "canary-env-token")
    #expect(try token(["CALLGATE_ADMIN_TOKEN": "canary-variable"], yaml, "flag") == "canary-flag-token")
    // An admin listener on loopback needs no token, and whatever listens there instead of the server must not
    // get one.
    #expect(try token([:], "admin: { port: 9091, token_file: secret }", nil) == nil)
    #expect(try token(["CALLGATE_ADMIN_TOKEN": "canary-variable"], "admin: { port: 9091 }", "flag") == nil)
    // With named operators, the listener needs the token of one of them.
    #expect(
      try token(["CALLGATE_OPERATOR_TOKEN": "canary-own"], "admin: { port: 9091 }", nil) == "canary-own")
    #expect(
      try token(["CALLGATE_OPERATOR_TOKEN_FILE": "env"], "admin: { port: 9091 }", nil) == "canary-env-token")
  }

  @Test func `the reason why the server cannot be found is reported`() throws {
    for (yaml, environment, flag, expected) in [
      (nil, [:], "none", "--admin-token-file: cannot read \"none\""),
      ("admin: { port: 0 }", [:], nil, "0 is a different port at each start"),
      ("admin: { port: x }", [:], nil, "admin.port: \"x\""),
      ("admin: [", [:], nil, "YAML"),
      ("admin: { host: 0.0.0.0, token_file: none }", [:], nil, "admin.token_file: cannot read"),
      (nil, ["CALLGATE_ADMIN_TOKEN": "with space"], nil, "CALLGATE_ADMIN_TOKEN: contains spaces"),
      // A token is never sent in clear text.
      (
        "admin: { host: 10.0.0.5 }", ["CALLGATE_ADMIN_TOKEN": Self.token], nil,
        "CALLGATE_CONFIG_TEXT:1:16: admin.host: 10.0.0.5 is reached over plain http"
      ),
      (
        "admin: { host: 10.0.0.5 }", ["CALLGATE_ADMIN_TOKEN": Self.token], nil,
        "set it to 127.0.0.1, or give the public port's https address with --url https://NAME"
      ),
      (
        nil, ["CALLGATE_ADMIN_TOKEN": Self.token, "HOST": "10.0.0.5"], nil,
        "HOST: 10.0.0.5 is reached over plain http"
      ),
      (
        nil, ["CALLGATE_ADMIN_TOKEN": Self.token, "HOST": "10.0.0.5"], nil,
        "network — give the server's https address with --url https://NAME"
      ),
      (
        "listen: { tls: { certificate_file: none, key_file: b } }", ["CALLGATE_ADMIN_TOKEN": Self.token], nil,
        "listen.tls.certificate_file: cannot read \"none\""
      ),
      (
        "listen: { tls: { certificate_file: empty, key_file: b } }", ["CALLGATE_ADMIN_TOKEN": Self.token],
        nil, "listen.tls.certificate_file: names a file without a certificate that can be read"
      ),
    ] as [(String?, [String: String], String?, String)] {
      let found = find(environment, yaml: yaml, tokenFile: flag, files: ["empty": ""])
      guard case .failure(let errors) = found else {
        Issue.record("\(yaml ?? "") was taken")
        continue
      }
      #expect(errors.description.contains(expected), "\(errors)")
    }
    // If the server's address is given, the file is not needed.
    #expect(try find(yaml: "admin: [", url: "http://127.0.0.1:1").get().url == "http://127.0.0.1:1")
  }
}
