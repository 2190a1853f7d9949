// Tests of the emulated Sendbird over HTTP: users, session tokens, errors by code, and faults.

import HTTP
import JSON
import TestSupport
import Testing

@testable import Sandbox

@Suite(.serialized) struct EmulatedSendbirdTests {
  private static func ask(
    _ emulator: RunningEmulator, _ path: String, _ content: String = "{}", token: String? = "master"
  ) async throws -> LoopbackClient.Answer? {
    try await emulator.http.send(
      "POST", path, fields: token.map { [("Api-Token", $0)] } ?? [], content: content)
  }

  private static func user(_ id: String) -> String { #"{"user_id":"\#(id)","nickname":"","profile_url":""}"# }

  @Test func `a user has tokens once it is made`() async throws {
    try await RunningEmulator.run { emulator in
      let unknown = try #require(try await Self.ask(emulator, "/v3/users/a%2Fb/token"))
      #expect(unknown.status == 400)
      #expect(try unknown.json["error"] == true)
      #expect(try unknown.json["code"] == 400_301)
      #expect(try await Self.ask(emulator, "/v3/users", Self.user("a/b"))?.status == 200)
      #expect(try await Self.ask(emulator, "/v3/users", Self.user("a/b"))?.json["code"] == 400_202)
      let end = (emulator.now + 60) * 1000
      let given = try #require(
        try await Self.ask(emulator, "/v3/users/a%2Fb/token", #"{"expires_at":\#(end)}"#))
      #expect(given.status == 200)
      #expect(try given.json["expires_at"]?.int == end)
      let token = try #require(given.json["token"]?.string)
      #expect(token.utf8.count > 20)
      let journal = try await emulator.journal("sessions")
      #expect(journal["count"] == 4)
      #expect(journal["users"] == 1)
      #expect(
        journal["sessions"]?.array?.map { $0["outcome"] } == ["refused", "accepted", "refused", "accepted"])
      #expect(!String(decoding: journal.serialized(), as: UTF8.self).contains(token))
    }
  }

  @Test(arguments: [
    ("/v3/users", "{}", 400_105), ("/v3/users", "[", 400_403), ("/v3/users/ann/token", "[]", 400_403),
    (
      "/v3/users", #"{"user_id":"\#(String(repeating: "x", count: 81))","nickname":"","profile_url":""}"#,
      400_111
    ),
  ])
  func `a mistake has Sendbird's code in a 400`(path: String, content: String, code: Int) async throws {
    try await RunningEmulator.run { emulator in
      let answer = try #require(try await Self.ask(emulator, path, content))
      #expect(answer.status == 400)
      #expect(try answer.json["code"]?.int == Int64(code))
    }
  }

  @Test func `without an API token nothing is returned, and other paths are unknown`() async throws {
    try await RunningEmulator.run { emulator in
      let answer = try #require(try await Self.ask(emulator, "/v3/users", Self.user("ann"), token: nil))
      #expect(try answer.json["code"] == 400_401)
      #expect(try await Self.ask(emulator, "/v3/users/ann")?.status == 404)
      #expect(try await Self.ask(emulator, "/v3/users/ann/token/x")?.status == 404)
      #expect(try await emulator.http.send("GET", "/v3/users")?.status == 404)
    }
  }

  @Test(arguments: [(401, 400_401), (403, 403_100), (429, 500_910), (500, 500_901), (400, 400_111)])
  func `a fault has the code of its status, and acts on nothing`(status: Int, code: Int) async throws {
    try await RunningEmulator.run { emulator in
      try await emulator.fault(#"{"endpoint":"sendbird","status":\#(status),"retry_after":7}"#)
      let answer = try #require(try await Self.ask(emulator, "/v3/users", Self.user("ann")))
      #expect(answer.status == status)
      #expect(try answer.json["code"]?.int == Int64(code))
      #expect(answer.fields["Retry-After"] == "7")
      #expect(try await emulator.journal("sessions")["users"] == 0)
    }
  }

  @Test(arguments: [("before", 0), ("during", 1), ("after", 1)])
  func `a dropped answer acts before or not at all`(drop: String, users: Int64) async throws {
    try await RunningEmulator.run { emulator in
      try await emulator.fault(#"{"endpoint":"sendbird","drop":"\#(drop)"}"#)
      let answer = try await Self.ask(emulator, "/v3/users", Self.user("ann"))
      #expect(drop == "during" || answer == nil)
      #expect(try await emulator.journal("sessions")["users"]?.int == users)
    }
  }

  @Test func `a user is kept with nickname and picture`() async throws {
    try await RunningEmulator.run { emulator in
      let answer = try #require(
        try await Self.ask(
          emulator, "/v3/users",
          #"{"user_id":"ann","nickname":"Ann","profile_url":"https://x.example/a.png"}"#))
      #expect(
        try answer.json == ["user_id": "ann", "nickname": "Ann", "profile_url": "https://x.example/a.png"])
    }
  }

  @Test func `every number in a body is taken or refused`() async throws {
    try await RunningEmulator.run { emulator in
      _ = try await Self.ask(emulator, "/v3/users", Self.user("ann"))
      for (path, body) in [
        ("/v3/users", #"{"user_id":"bob","nickname":"","profile_url":""}"#),
        ("/v3/users/ann/token", #"{"expires_at":1}"#),
      ] {
        for content in try StrangeNumbers.documents(like: body) {
          #expect(try await Self.ask(emulator, path, content) != nil)
        }
      }
    }
  }
}
