// Handles a request to the emulated Sendbird Desk: customers, tickets and messages in their channels.

import HTTP
import JSON
import Platform
import Synchronization

/// `/platform/v1/…` as `desk-api-APPLICATION_ID.sendbird.com` responds to it, as far as that is known.
/// Accepts any `SENDBIRDDESKAPITOKEN`.
struct DeskService: Sendable {
  /// The maximum number of messages to save per ticket.
  static let mostMessages = 10

  struct State: Sendable {
    /// The customers' ids, by the octets of their users' ids.
    var customers: [[UInt8]: Int64] = [:]
    /// The last 1000 tickets, oldest first.
    var tickets: [TicketRecord] = []
    /// The number of tickets opened.
    var count: Int64 = 0
    /// The number of requests for a ticket that arrived, successful or not.
    var arrivals: Int64 = 0
  }

  /// Handles a request and returns how to end it.
  static func act(
    _ call: Call, _ target: DeskTarget, now: UnixTime, state: borrowing Mutex<EmulatorState>
  ) -> Ending {
    state.withLock { state in
      let fault: Fault?
      if case .message = target {
        fault = state.faults.take(.sendbird)
      } else {
        fault = state.faults.take(.desk)
      }
      if target == .newTicket { state.desk.arrivals += 1 }
      if let fault, fault.preventsAction {
        let reply = fault.refusal().map { fault.apply(to: $0, isRefusalOfTheRequest: false) }
        return Ending(reply, after: fault.delay, isCutOff: fault.drop == .during)
      }
      let (reply, isRefusal) = answer(call, target, now: now, &state)
      var ending = Ending(reply, after: fault?.delay ?? 0, isCutOff: fault?.drop == .during)
      if let fault {
        ending.reply = fault.drop == .after ? nil : fault.apply(to: reply, isRefusalOfTheRequest: isRefusal)
      }
      return ending
    }
  }

  private static func answer(
    _ call: Call, _ target: DeskTarget, now: UnixTime, _ state: inout EmulatorState
  ) -> (Reply, isRefusal: Bool) {
    if case .message(let url) = target { return message(call, in: url, &state) }
    guard call.deskToken?.isEmpty == false else { return (refusal(.unauthorized, "no token"), true) }
    switch target {
    case .customer(let userID):
      guard let userID else { return (refusal(.badRequest, "no sendbird_id"), true) }
      let results = state.desk.customers[Array(userID.utf8)].map { [customer($0, userID)] } ?? []
      return (json(["results": .array(results)]), false)
    case .newCustomer:
      guard let userID = object(call)?["sendbirdId"]?.string else {
        return (refusal(.badRequest, "no sendbirdId"), true)
      }
      guard state.users[Array(userID.utf8)] != nil else {
        return (SendbirdService.error(400_201, "User not found"), true)
      }
      guard state.desk.customers.count < SendbirdService.mostUsers else {
        return (refusal(.internalServerError, "too many customers"), true)
      }
      let id = state.desk.customers[Array(userID.utf8)] ?? Int64(state.desk.customers.count + 1)
      state.desk.customers[Array(userID.utf8)] = id
      return (json(customer(id, userID).object ?? [:]), false)
    case .newTicket: return ticket(call, now: now, &state)
    case .message: preconditionFailure("a message is no request to the desk")
    }
  }

  private static func ticket(
    _ call: Call, now: UnixTime, _ state: inout EmulatorState
  ) -> (Reply, isRefusal: Bool) {
    guard let content = object(call), content["channelName"]?.string != nil,
      // Any number: an id, which is only compared.
      let customer = content["customerId"]?.int,
      let user = state.desk.customers.first(where: { $0.value == customer })?.key
    else { return (refusal(.badRequest, "channelName and the id of a customer are required"), true) }
    guard content["customFields"] == nil || content["customFields"]?.string != nil else {
      return (refusal(.badRequest, "customFields is a JSON object as text"), true)
    }
    state.desk.count += 1
    let record = TicketRecord(
      time: now, id: state.desk.count, channelURL: "sendbird_desk_\(Identifier.random().prefix(12))",
      userID: String(decoding: user, as: UTF8.self),
      nickname: state.users[user]?.nickname ?? "", content: content)
    if state.desk.tickets.count >= Journal.capacity { state.desk.tickets.removeFirst() }
    state.desk.tickets.append(record)
    let reply: JSONObject = [
      "id": .number(JSONNumber(record.id)), "channelUrl": .string(record.channelURL), "status": "INITIALIZED",
    ]
    return (json(reply), false)
  }

  private static func message(
    _ call: Call, in url: String, _ state: inout EmulatorState
  ) -> (Reply, isRefusal: Bool) {
    guard call.apiToken?.isEmpty == false else {
      return (SendbirdService.error(400_401, "Invalid API token"), true)
    }
    guard let text = object(call)?["message"]?.string else {
      return (SendbirdService.error(400_105, "message must be specified"), true)
    }
    guard let index = state.desk.tickets.lastIndex(where: { $0.channelURL == url }) else {
      return (SendbirdService.error(400_201, "Channel not found"), true)
    }
    if state.desk.tickets[index].messages.count < mostMessages {
      state.desk.tickets[index].messages.append(text)
    }
    return (json(["message_id": 1, "message": .string(text)]), false)
  }

  private static func object(_ call: Call) -> JSONObject? {
    do {
      return try JSONValue(parsing: call.content).object
    } catch {
      return nil  // The reply says that members are missing.
    }
  }

  private static func customer(_ id: Int64, _ userID: String) -> JSONValue {
    ["id": .number(JSONNumber(id)), "sendbirdId": .string(userID)]
  }

  private static func json(_ members: JSONObject) -> Reply { .json(.ok, members.serialized()) }

  private static func refusal(_ status: Status, _ detail: String) -> Reply {
    .json(status, DeskError.content(detail))
  }

  /// The body of `GET /_sandbox/tickets`, newest first.
  static func journal(_ state: State) -> JSONValue {
    let members: JSONObject = [
      "tickets": .array(state.tickets.reversed().map(\.json)), "count": .number(JSONNumber(state.count)),
      "arrivals": .number(JSONNumber(state.arrivals)),
    ]
    return .object(members)
  }
}
