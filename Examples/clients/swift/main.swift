// SPDX-License-Identifier: MIT
// Runs everything that an app does with Callgate, and prints the results. It approves its own enrollment in the sandbox.
//   swift-example [URL [STEP [PHONE_NUMBER]]]   STEP: token, callback, availability, appointment, enrolment, push, renewal or again

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

let arguments = Array(CommandLine.arguments.dropFirst())
let base = URL(string: arguments.first ?? "http://localhost:8080")!
let steps =
  arguments.count > 1
  ? [arguments[1]] : ["token", "callback", "availability", "appointment", "enrolment", "push"]
let number = arguments.count > 2 ? arguments[2] : "+1415555\(Int.random(in: 1000...9999))"
/// A Firebase App Check token. In your app, the SDK returns it. `POST /_sandbox/attest` makes one.
let appCheckToken = ProcessInfo.processInfo.environment["CALLGATE_APP_CHECK"]
let callgate = client()

func client(_ credential: Callgate.Credential? = nil) -> Callgate {
  Callgate(base, credential: { credential }, appCheck: { appCheckToken })
}

func show(_ problem: Problem) -> String { "\(problem.code): \(problem.text) (\(problem.action))" }

func describe(_ outcome: Callgate.Outcome) -> String {
  switch outcome {
  case .accepted(let call): "\(call.status) \(call.id)"
  case .maybe(let problem): "maybe, \(problem.code): \(outcome.text) (\(outcome.action))"
  case .refused(let problem): "refused, \(show(problem))"
  case .unanswered(let problem): "unanswered, \(problem.code): \(outcome.text) (\(outcome.action))"
  }
}

/// Approves an enrollment, as an operator would.
@Sendable func approve(_ code: String) async {
  var approval = URLRequest(url: base.appending(path: "_sandbox/installations/approve"))
  approval.httpMethod = "POST"
  approval.setValue("application/json", forHTTPHeaderField: "Content-Type")
  approval.httpBody = Data(#"{"user_code":"\#(code)"}"#.utf8)
  _ = try? await URLSession.shared.data(for: approval)
}

/// The message of a device's first push, as the system passes it to the app.
func pushed(to device: String) async throws -> String {
  struct Journal: Decodable {
    struct Notice: Decodable {
      var device, message: String?
    }
    var notices: [Notice]
  }
  for _ in 1...100 {
    let (content, _) = try await URLSession.shared.data(from: base.appending(path: "_sandbox/notices"))
    let journal = try JSONDecoder().decode(Journal.self, from: content)
    let mine = journal.notices.first { $0.device?.suffix(4) == device.suffix(4) }
    if let message = mine?.message { return message }
    try await Task.sleep(for: .milliseconds(100))
  }
  throw Problem(status: 410, code: "claim_expired")
}

func step(_ name: String) async throws {
  switch name {
  case "token":
    // Fifty screens need a token at once, and the server gets one request.
    let tokens = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 1...50 { group.addTask { try await callgate.token() } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    print("token: 50 requests, \(tokens.count) token of \(tokens.first!.count) characters")
    await withCheckedContinuation { done in
      AuthorizationController(callgate) { answer in
        print("token: Talkdesk's SDK got \((try? answer.get()) == nil ? "no" : "the") token")
        done.resume()
      }.shouldAuthorize()
    }
  case "renewal":
    // An app that stays open until its token is renewed.
    let first = try await callgate.token()
    while try await callgate.token() == first { try await Task.sleep(for: .milliseconds(100)) }
    print("renewal: another token")
  case "callback":
    let tap = Callgate.Tap(number: number, context: ["issue": "My flight was canceled"])
    print("callback: \(describe(try await callgate.call(tap)))")
  case "again":
    // An app that sends its tap twice, and after a restart the saved tap, until its outcome is known.
    let tap = Callgate.Tap(number: number)
    let saved = try JSONEncoder().encode(tap)
    for _ in 1...2 { print("again: \(describe(try await callgate.call(tap)))") }
    for _ in 1...2 {
      let loaded = try JSONDecoder().decode(Callgate.Tap.self, from: saved)
      print("again: \(describe(try await client().call(loaded)))")
    }
  case "availability":
    let tomorrow = Date(timeIntervalSinceNow: 86_400)
    let found = try await callgate.availability(tomorrow..<tomorrow + 3_600)
    print("availability: \(found.open ? "open" : "closed"), \(found.slots?.count ?? 0) times tomorrow")
  case "appointment":
    let tap = Callgate.Tap(number: number, at: Date(timeIntervalSinceNow: 86_400))
    let outcome = try await callgate.call(tap)
    print("appointment: \(describe(outcome))")
    guard case .accepted(let booked) = outcome else { return }
    let moved = try await callgate.move(booked.id, to: booked.at! + 3_600)
    print("appointment: moved to \(moved.at!.ISO8601Format())")
    print("appointment: \(try await callgate.cancel(booked.id).status)")
  case "enrolment":
    let attest = appCheckToken.map { token in Callgate.Attester.appCheck { token } }
    let phone = try await callgate.enrol(app: "Swift example", attest: attest) { code in
      print("enrolment: tell an operator the code \(code)")
      await approve(code)
    }
    let enrolled = client(phone.credential)
    print(
      "enrolment: this phone has a credential, and its own token of \(try await enrolled.token().count) characters"
    )
    try await enrolled.unenrol()
    do {
      _ = try await client(phone.credential).token()
    } catch let problem as Problem {
      print("enrolment: afterwards \(show(problem))")
    }
  case "push":
    let phone = try await callgate.enrol(app: "Swift example", serverApp: "example-app-push", show: approve)
    let enrolled = client(phone.credential)
    let device = "swift-\(UUID().uuidString)"
    try await enrolled.register(device: device, platform: "fcm")
    // What the system calls when a push arrives.
    let delivery = Task {
      let message = try await pushed(to: device)
      try await enrolled.receive(message)
      return message
    }
    defer { delivery.cancel() }
    print("push: a notice came, and a token of \(try await enrolled.token().count) characters")
    do {
      try await enrolled.receive(try await delivery.value)
    } catch let problem as Problem {
      print("push: the same notice once more: \(show(problem))")
    }
  default:
    print("no such step: \(name)")
    exit(64)
  }
}

do {
  for name in steps { try await step(name) }
} catch let problem as Problem {
  print("refused, \(show(problem))")
  exit(1)
}
