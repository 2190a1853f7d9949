// Tests a running server with requests that must succeed and requests that must fail.

import API
import Documents
public import HTTP
import JOSE
import JSON
public import Platform
import Upstream

/// Makes one request that a running server must allow and three that it must refuse. None of them spends an
/// allowance, and none should get a token.
public struct Probe: Sendable {
  private let base: String
  private let credential: ProbeCredential?
  private let transport: any HTTPTransport
  private let clock: any TimeSource
  private let timeout: Duration

  /// - Parameters:
  ///   - url: The server's base URL, without the path of an endpoint: `https://calls.example.com`.
  ///   - credential: A caller's credential; nil for a server that allows anonymous callers.
  ///   - timeout: The timeout of each request.
  public init(
    url: String, credential: ProbeCredential?, transport: any HTTPTransport, clock: any TimeSource,
    timeout: Duration = .seconds(10)
  ) {
    var base = url
    // Our text: from the command line.
    while base.hasSuffix("/") { base.removeLast() }
    self.base = base
    self.credential = credential
    self.transport = transport
    self.clock = clock
    self.timeout = timeout
  }

  private struct Step {
    let method: Method
    let path: String
    let purpose: String
    let authorization: Secret?
    /// The expected response.
    let expectation: Expectation
  }

  private enum Expectation {
    case allowed
    /// A refusal with one of these codes and the code's status.
    case refusal([Problem.Code])
  }

  /// Makes the requests one after the other.
  /// - Throws: `InvalidURL` if the URL is invalid.
  public func run() async throws(InvalidURL) -> ProbeReport {
    var report = ProbeReport()
    for step in steps {
      let line = try await perform(step, isKnown: report.lines.first?.verdict != .refused)
      report.lines.append(line)
      // The first request got no response, so the other three would fail too, perhaps after a timeout each.
      if line.status == nil, report.lines.count == 1 { break }
    }
    return report
  }

  /// The mistake in an invalid URL.
  public struct InvalidURL: Error, Sendable, CustomStringConvertible {
    public let description: String
  }

  private var steps: [Step] {
    let unknown = "/token/callgate-probe-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    let allowed = Step(
      method: .get, path: "/access?probe", purpose: "allowed request",
      authorization: credential?.authorization,
      expectation: .allowed)
    let unknownApp = Step(
      method: .post, path: unknown, purpose: "unknown app",
      authorization: credential?.authorization, expectation: .refusal([.unknownApp, .stopped]))
    guard let credential else {
      return [
        allowed, unknownApp,
        Step(
          method: .post, path: "/access", purpose: "other method", authorization: nil,
          expectation: .refusal([.methodNotAllowed])),
        Step(
          method: .get, path: unknown + "/none", purpose: "unknown path",
          authorization: nil,
          expectation: .refusal([.notFound])),
      ]
    }
    return [
      allowed,
      Step(
        method: .get, path: "/access?probe", purpose: "no credential",
        authorization: nil,
        expectation: .refusal([.unauthenticated])),
      Step(
        method: .get, path: "/access?probe", purpose: "wrong credential",
        authorization: credential.wrong,
        expectation: .refusal([.unauthenticated, .invalidToken, .rateLimited])),
      unknownApp,
    ]
  }

  /// - Parameter isKnown: False if the server refused the first request, perhaps because of the credential.
  private func perform(_ step: Step, isKnown: Bool) async throws(InvalidURL) -> ProbeReport.Line {
    var fields: Fields = ["Accept": "application/json", "User-Agent": "callgate-probe"]
    if let authorization = step.authorization { fields["Authorization"] = authorization.exposedString() }
    let start = clock.now
    let judgement: Judgement
    var status: Int?
    do throws(TransportError) {
      let answer = try await transport.send(
        OutboundRequest(
          method: step.method, url: base + step.path, fields: fields, timeout: timeout,
          maximumContentLength: 64 * 1024))
      status = answer.status
      judgement = judge(answer, step, isKnown)
    } catch {
      if error.reason == .invalidURL { throw InvalidURL(description: error.detail) }
      judgement = Judgement(.unreachable, "no response: \(error.words(about: "the server"))")
    }
    let milliseconds = (clock.now - start).nanosecondsClamped / 1_000_000
    // Our own text about the path. The random name of the app says nothing, so it is left out.
    let path = step.path.hasPrefix("/token/") ? "/token/…" : step.path
    return ProbeReport.Line(
      request: "\(step.method.rawValue) \(path)", purpose: step.purpose, verdict: judgement.verdict,
      status: status,
      found: judgement.found, milliseconds: milliseconds)
  }

  // MARK: Judging

  private struct Judgement {
    let verdict: ProbeReport.Verdict
    let found: String

    init(_ verdict: ProbeReport.Verdict, _ found: String) {
      self.verdict = verdict
      self.found = found
    }
  }

  private func judge(_ answer: InboundResponse, _ step: Step, _ isKnown: Bool) -> Judgement {
    if let leak = Self.leak(in: answer.content) { return Judgement(.surprise, leak) }
    switch step.expectation {
    case .allowed: return judgeAllowed(answer)
    case .refusal(let codes):
      // The server refuses unknown credentials before anything else.
      let all = isKnown ? codes : codes + [.unauthenticated, .invalidToken, .rateLimited]
      return judgeRefusal(answer, all, asked: codes, isAnonymous: step.authorization == nil)
    }
  }

  private func judgeAllowed(_ answer: InboundResponse) -> Judgement {
    if answer.status == 204 {
      if let missing = Self.missingField(answer) { return Judgement(.surprise, missing) }
      guard answer.content.isEmpty else { return Judgement(.surprise, "a 204 with a body") }
      return Judgement(.ok, "allowed")
    }
    guard let problem = Self.problem(in: answer) else {
      return Judgement(.surprise, Self.foreign(answer))
    }
    let summary = Self.words(problem)
    switch problem.code?.status.code {
    case 500, 502, 503, 504: return Judgement(.unreachable, "the server cannot serve requests: \(summary)")
    case 401 where credential == nil:
      return Judgement(.refused, "this server requires a credential: give one with --user or --bearer")
    case nil: return Judgement(.surprise, "an unknown problem: \(summary)")
    default: return Judgement(.refused, "refused: \(summary)")
    }
  }

  private func judgeRefusal(
    _ answer: InboundResponse, _ codes: [Problem.Code], asked: [Problem.Code], isAnonymous: Bool
  )
    -> Judgement
  {
    guard answer.status >= 400 else {
      return Judgement(
        .surprise,
        answer.status == 204 && isAnonymous && credential != nil
          ? "the server allowed it: allow_anonymous is on"
          : answer.status == 204 ? "the server allowed it" : Self.foreign(answer))
    }
    guard let problem = Self.problem(in: answer) else { return Judgement(.surprise, Self.foreign(answer)) }
    guard let code = problem.code, codes.contains(code), code.status.code == answer.status else {
      let isOverloaded = [500, 502, 503, 504].contains(answer.status)
      return Judgement(
        isOverloaded ? .unreachable : .surprise,
        "expected \(codes.map(\.rawValue).joined(separator: " or ")): \(Self.words(problem))")
    }
    if let missing = Self.missingField(answer) { return Judgement(.surprise, missing) }
    if answer.status == 401, answer.fields["WWW-Authenticate"] == nil {
      return Judgement(.surprise, "a 401 without WWW-Authenticate")
    }
    // The server refuses unknown credentials before it looks for the app. That is right, but not the purpose
    // of this request.
    let isOther = !asked.contains(code)
    return Judgement(
      .ok,
      "refused (\(code.rawValue)\(isOther ? "; the credential is wrong, so the server did not check the app" : ""))"
    )
  }

  /// A sentence about a secret or token in a response, which must have none; nil if it has none.
  private static func leak(in content: [UInt8]) -> String? {
    for word in ["auth_token", "access_token"] where content.firstRange(of: Array(word.utf8)) != nil {
      return "the response contains \(word)"
    }
    // A JWT begins with the Base64 of {" and has two dots.
    guard let start = content.firstRange(of: Array("eyJ".utf8))?.lowerBound else { return nil }
    let run = content[start...].prefix { octet in
      (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
        || octet == 0x2D || octet == 0x5F || octet == 0x2E
    }
    return run.count { $0 == 0x2E } == 2 ? "the response contains a token" : nil
  }

  private static func missingField(_ answer: InboundResponse) -> String? {
    guard answer.fields["X-Request-Id"]?.isEmpty == false else { return "the response has no X-Request-Id" }
    let directives = answer.fields.values(of: "Cache-Control").flatMap { Array($0.utf8)[...].elements() }
    guard directives.contains(where: { $0.equals(lowercase: "no-store") }) else {
      return "caches may store the response: it has no Cache-Control: no-store"
    }
    return nil
  }

  private static func problem(in answer: InboundResponse) -> (code: Problem.Code?, document: JSONObject)? {
    let type = Array((answer.fields["Content-Type"] ?? "").utf8)[...]
    guard type.starts(withLowercase: "application/problem+json") else { return nil }
    do {
      guard let document = try JSONValue(parsing: answer.content).object else { return nil }
      return (document["code"]?.string.flatMap(Problem.Code.init), document)
    } catch {
      return nil  // This server did not write the response.
    }
  }

  /// A problem in a few words: its code, the rule, the time to wait, and the detail.
  private static func words(_ problem: (code: Problem.Code?, document: JSONObject)) -> String {
    let document = problem.document
    var words = quoted(document["code"]?.string ?? "none").dropFirst().dropLast().description
    if let rule = document["rule"]?.string { words += " by rule \(quoted(rule))" }
    if let next = document["next_open"]?.string { words += ", opens \(quoted(next))" }
    if let wait = document["retry_after"]?.number { words += ", again in \(wait) s" }
    if let detail = document["detail"]?.string { words += " (\(quoted(detail, limit: 160)))" }
    return words
  }

  private static func foreign(_ answer: InboundResponse) -> String {
    (300..<400).contains(answer.status)
      ? "status \(answer.status), a redirect, which probe does not follow: give the final URL"
      : "status \(answer.status) without a problem document: another program responds here"
  }
}
