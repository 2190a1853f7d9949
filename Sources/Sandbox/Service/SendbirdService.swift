// Handles a request to the emulated Sendbird: users and their session tokens.

import HTTP
import JSON
import Platform
import Synchronization

/// `POST /v3/users`, `GET` and `PUT /v3/users/{user_id}`, and `POST /v3/users/{user_id}/token`, as
/// `api-APPLICATION_ID.sendbird.com` responds to them: errors have Sendbird's own codes, with status 400.
/// Accepts any `Api-Token`.
struct SendbirdService: Sendable {
  /// The prefix of the paths.
  static let prefix = "/v3/users"
  /// The maximum number of users. The emulator refuses one more with error 500901. `DeskService` has the same
  /// limit for customers.
  static let mostUsers = 200_000

  /// Handles a request and returns how to end it.
  static func act(
    _ call: Call, _ target: SendbirdTarget, now: UnixTime, state: borrowing Mutex<EmulatorState>
  ) -> Ending {
    state.withLock { state in
      let fault = state.faults.take(.sendbird)
      var record = SessionRecord(time: now, target: target, outcome: .fault, traceparent: call.traceparent)
      var ending: Ending
      if let fault, fault.preventsAction {
        record.outcome = fault.drop == .before ? .droppedBefore : .fault
        let reply = fault.refusal().map { fault.apply(to: $0, isRefusalOfTheRequest: false) }
        ending = Ending(reply, after: fault.delay, isCutOff: fault.drop == .during)
      } else {
        let (reply, isRefusal) = answer(call, target, now: now, &state)
        record.outcome = isRefusal ? .refused : .accepted
        ending = Ending(reply, after: fault?.delay ?? 0, isCutOff: fault?.drop == .during)
        if let fault {
          if !isRefusal, fault.drop == .during { record.outcome = .droppedDuring }
          if !isRefusal, fault.drop == .after { record.outcome = .droppedAfter }
          ending.reply =
            fault.drop == .after ? nil : fault.apply(to: reply, isRefusalOfTheRequest: isRefusal)
        }
      }
      record.status = ending.reply?.status.code
      state.journal.record(record)
      return ending
    }
  }

  private static func answer(
    _ call: Call, _ target: SendbirdTarget, now: UnixTime, _ state: inout EmulatorState
  ) -> (Reply, isRefusal: Bool) {
    guard call.apiToken?.isEmpty == false else { return (error(400_401, "Invalid API token"), true) }
    if case .user(let id) = target, call.content.isEmpty {
      guard let user = state.users[Array(id.utf8)] else { return (error(400_201, "User not found"), true) }
      return (json(user.members(id)), false)
    }
    let content: JSONObject?
    do {
      content = try JSONValue(parsing: call.content).object
    } catch {
      content = nil  // The reply says that it is not JSON.
    }
    guard let content else { return (error(400_403, "Invalid JSON request body"), true) }
    switch target {
    case .users:
      guard let id = content["user_id"]?.string, let nickname = content["nickname"]?.string,
        let picture = content["profile_url"]?.string
      else { return (error(400_105, "user_id, nickname and profile_url must be specified"), true) }
      guard (1...80).contains(id.unicodeScalars.count) else {
        return (error(400_111, "user_id must have at most 80 characters"), true)
      }
      guard state.users.count < mostUsers else { return (error(500_901, "Too many users"), true) }
      guard state.users[Array(id.utf8)] == nil else {
        return (error(400_202, "\"user_id\" violates unique constraint"), true)
      }
      guard nickname.unicodeScalars.count <= 80, picture.utf8.count <= 2048 else {
        return (error(400_111, "nickname must have at most 80 characters, profile_url 2048"), true)
      }
      state.users[Array(id.utf8)] = SendbirdUser(nickname: nickname, profileURL: picture)
      return (json(SendbirdUser(nickname: nickname, profileURL: picture).members(id)), false)
    case .user(let id):
      guard var user = state.users[Array(id.utf8)] else { return (error(400_201, "User not found"), true) }
      if let nickname = content["nickname"]?.string { user.nickname = nickname }
      guard user.nickname.unicodeScalars.count <= 80 else {
        return (error(400_111, "nickname must have at most 80 characters"), true)
      }
      state.users[Array(id.utf8)] = user
      return (json(user.members(id)), false)
    case .token(let id):
      guard state.users[Array(id.utf8)] != nil else { return (error(400_301, "User not found"), true) }
      // Without `expires_at`, a token lives seven days.
      // Any number: it is only compared and written.
      let end = content["expires_at"]?.int ?? now.advanced(bySeconds: 7 * 86_400).milliseconds
      guard end > now.milliseconds else { return (error(400_111, "expires_at is in the past"), true) }
      let token = Identifier.random() + Identifier.random()
      return (json(["token": .string(token), "expires_at": .number(JSONNumber(end))]), false)
    }
  }

  private static func json(_ members: JSONObject) -> Reply { .json(.ok, members.serialized()) }

  /// An error in Sendbird's shape.
  static func error(_ code: Int64, _ message: String, status: Status = .badRequest) -> Reply {
    .json(status, SendbirdError.content(code, message))
  }
}

extension SendbirdUser {
  /// The user as Sendbird shows it.
  fileprivate func members(_ id: String) -> JSONObject {
    ["user_id": .string(id), "nickname": .string(nickname), "profile_url": .string(profileURL)]
  }
}

extension UnixTime {
  /// Milliseconds since 1970, as Sendbird counts.
  fileprivate var milliseconds: Int64 { seconds.multipliedClamped(by: 1000) }
}
