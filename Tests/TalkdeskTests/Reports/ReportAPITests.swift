// Tests of how a report of calls is fetched from Talkdesk: the job, the redirects, and which credential is
// sent where.

import HTTP
import JOSE
import Platform
import Synchronization
import TestSupport
import Testing
import Tokens

@testable import Talkdesk

@Suite(.timeLimit(.minutes(1))) struct ReportAPITests {
  private static let api = "https://api.example"
  private static let store = "https://reports.s3.us-east-1.amazonaws.com/file?X-Amz-Signature=canary"

  /// A network that serves the report's file at one URL, in one piece.
  private func network(
    job: [ScriptedTransport.Answer] = [.status(200, #"{"job":{"id":"j1","status":"processing"}}"#)],
    end: ScriptedTransport.Answer = .status(303, fields: ["Location": "/data/reports/calls/files/j1"]),
    file: ScriptedTransport.Answer = .status(303, fields: ["Location": store])
  ) -> ScriptedTransport {
    let looks = Mutex(job)
    return ScriptedTransport { _, request in
      if request.url.hasSuffix("/oauth/token") { return .token("a-token", scope: ReportAPI.scope) }
      if request.url == Self.api + "/data/reports/calls/jobs" {
        return .status(202, #"{"id":"j1","status":"created"}"#)
      }
      if request.url == Self.api + "/data/reports/calls/jobs/j1" {
        return looks.withLock { $0.isEmpty ? end : $0.removeFirst() }
      }
      if request.url == Self.api + "/data/reports/calls/files/j1" {
        if case .reply(let reply) = file, reply.status == 200 { _ = request.onContent?(reply.content) }
        return file
      }
      _ = request.onContent?(Array("[1]".utf8))
      return .status(200)
    }
  }

  private func report(_ network: ScriptedTransport) async throws -> Result<String, ReportAPI.Failure> {
    let time = ManualTime()
    let issuer = try TalkdeskID.scripted(network, time)
    let api = ReportAPI(baseURL: Self.api, transport: network, clock: time) { () throws(ReportAPI.Failure) in
      do throws(TokenExchangeError) {
        return try await issuer.exchange(scope: ReportAPI.scope, deadline: time.now + .seconds(20))
      } catch {
        throw .unavailable("\(error)")
      }
    }
    let taken = Mutex<[UInt8]>([])
    let task = Task { () -> Result<String, ReportAPI.Failure> in
      do throws(ReportAPI.Failure) {
        try await api.report(from: "2026-11-22T03:30:00Z", to: "2026-11-23T03:30:00Z") { bytes in
          taken.withLock { $0 += bytes }
          return true
        }
        return .success(String(decoding: taken.withLock { $0 }, as: UTF8.self))
      } catch {
        return .failure(error)
      }
    }
    let ticker = Task {
      while !Task.isCancelled {
        if time.sleeperCount > 0 { time.advance(by: .seconds(10)) }
        await Task.yield()
      }
    }
    defer { ticker.cancel() }
    return await task.value
  }

  private func isAuthorized(_ request: OutboundRequest) -> Bool { request.fields["Authorization"] != nil }

  @Test func `a job is made, looked at until it is done, and its file is had without the token`() async throws
  {
    let network = network()
    #expect(try await report(network).get() == "[1]")
    let sent = network.requests.filter { !$0.url.hasSuffix("/oauth/token") }
    #expect(
      sent.map(\.url.description).map { $0.replacing(Self.api, with: "") } == [
        "/data/reports/calls/jobs", "/data/reports/calls/jobs/j1", "/data/reports/calls/jobs/j1",
        "/data/reports/calls/files/j1", Self.store,
      ])
    let last = try #require(sent.last)
    #expect(sent.dropLast().allSatisfy(isAuthorized) && !isAuthorized(last))
    let body = String(decoding: Array(try #require(sent.first).content), as: UTF8.self)
    #expect(
      body.contains(#""timespan":{"from":"2026-11-22T03:30:00Z","to":"2026-11-23T03:30:00Z"}"#), "\(body)")
  }

  @Test func `a file at the API needs no redirect`() async throws {
    #expect(try await report(network(file: .status(200, "[2]"))).get() == "[2]")
    let done = network(end: .status(200, #"{"job":{"id":"j1","status":"done"}}"#), file: .status(200, "[2]"))
    #expect(try await report(done).get() == "[2]")
  }

  @Test(arguments: [
    "https://evil.example/file", "http://reports.s3.amazonaws.com/file",
    "https://amazonaws.com.evil.example/file",
    "https://evilamazonaws.com/file", "https://reports.amazonaws.com@evil.example/file",
    "//evil.example/file",
    "https://reports.amazonaws.com:8443/file", "https://evil.example\\.amazonaws.com/file",
    "https://.amazonaws.com/x",
    "https://evil.example/?.amazonaws.com", "https://api.example.evil.example/file", "ftp://x.amazonaws.com/",
    "",
  ])
  func `a file elsewhere is not asked for`(place: String) async throws {
    let network = network(file: .status(303, fields: ["Location": place]))
    guard case .failure(.foreignHost) = try await report(network) else {
      Issue.record("it was followed")
      return
    }
    #expect(network.requests.last?.url == Self.api + "/data/reports/calls/files/j1")
  }

  @Test(arguments: [Self.store, "https://evil.example/data/reports/calls/files/j1", "//evil.example/"])
  func `the end of a job is at the API, or gets no token`(place: String) async throws {
    let network = network(end: .status(303, fields: ["Location": place]))
    guard case .failure(.foreignHost) = try await report(network) else {
      Issue.record("it was followed")
      return
    }
    #expect(network.requests.someAndAll { !$0.url.contains("evil") && !$0.url.contains("amazonaws") })
  }

  @Test func `a second redirect is not followed`() async throws {
    let network = ScriptedTransport { _, request in
      if request.url.hasSuffix("/oauth/token") { return .token("a-token", scope: ReportAPI.scope) }
      if request.url.hasSuffix("/jobs") { return .status(202, #"{"id":"j1"}"#) }
      if request.url.hasSuffix("/jobs/j1") {
        return .status(303, fields: ["Location": "/data/reports/calls/files/j1"])
      }
      return .status(303, fields: ["Location": Self.store])
    }
    guard case .failure(.unavailable("status 303")) = try await report(network) else {
      Issue.record("it was followed")
      return
    }
    #expect(network.requests.count { $0.url == Self.store } == 1)
  }

  @Test func `a compressed file is named as such`() async throws {
    let head = InboundResponse(status: 200, fields: ["Content-Encoding": "gzip"], content: [])
    let error = TransportError(.malformedResponse, sent: true, detail: "", head: head)
    guard case .failure(let failure) = try await report(network(file: .fail(error))) else {
      Issue.record("it was read")
      return
    }
    #expect(failure.words.contains("Content-Encoding: gzip"), "\(failure.words)")
  }

  @Test func `refusals and failed jobs are told apart`() async throws {
    for (job, words) in [
      (ScriptedTransport.Answer.status(403, #"{"code":"1050","message":"no"}"#), "status 403, 1050"),
      (.status(200, #"{"job":{"status":"failed"}}"#), "the job failed"), (.status(500), "status 500"),
      (.lost(), "closed the connection"),
    ] {
      guard case .failure(let failure) = try await report(network(job: [job])) else {
        Issue.record("a report without a job")
        continue
      }
      #expect(failure.words.contains(words), "\(failure.words)")
    }
    let endless = Array(
      repeating: ScriptedTransport.Answer.status(200, #"{"job":{"status":"created"}}"#), count: 500)
    guard case .failure(let failure) = try await report(network(job: endless)) else {
      Issue.record("it waited for ever")
      return
    }
    #expect(failure.words.contains("did not end in time"))
  }
}
