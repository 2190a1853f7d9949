// Reads the JSON bodies that operators send, and reports all mistakes together.

import API
import Deciding
import Documents
import Gate
import JSON
import Platform
import Store

/// A reader for the members of a request's JSON object, which collects all mistakes.
struct AdminBody {
  private let object: JSONObject
  private var taken: Set<String> = []
  private(set) var mistakes: [Problem.FieldProblem] = []

  /// Reads the content; anything but a JSON object is refused.
  init(_ content: [UInt8]) throws(Problem) {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue(parsing: content)
    } catch {
      throw Problem(.invalidJSON, "The body is not valid JSON: \(error.reason) at byte \(error.offset).")
    }
    guard let object = value.object else { throw Problem(.invalidJSON, "The body is not a JSON object.") }
    self.object = object
  }

  /// Notes a mistake.
  mutating func note(_ name: String, _ description: String) {
    mistakes.append(Problem.FieldProblem(name: name, description: description))
  }

  /// A member; nil if it is absent or null.
  mutating func value(_ name: String) -> JSONValue? {
    taken.insert(name)
    guard let value = object[name], value != .null else { return nil }
    return value
  }

  /// A text; nil if it is absent, or if it is something else, which is noted.
  mutating func text(_ name: String) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.string else {
      note(name, "Give a string.")
      return nil
    }
    return text
  }

  /// The operator's reason, with phone numbers hidden. Nil if it is absent, or if it is too long or not a
  /// single line, which is noted.
  mutating func reason() -> String? {
    guard let text = text("reason") else { return nil }
    guard Stop.isReason(text) else {
      note("reason", "Give one line of text with at most \(Stop.longestReason) characters.")
      return nil
    }
    // The reason goes into the log, so hide phone numbers.
    return text.hidingPhoneNumbers
  }

  /// Throws all mistakes, including unknown members. Call it after the last member was read.
  mutating func finish() throws(Problem) {
    for (name, _) in object.members where !taken.contains(name) {
      note(name, "Unknown member. Known members: \(taken.sorted().joined(separator: ", ")).")
    }
    guard mistakes.isEmpty else { throw .invalid(mistakes) }
  }
}

/// `POST /admin/stop` and `POST /admin/resume`: target and action; for a stop also reason and duration.
struct StopRequest {
  var target: Stop.Target
  var action: Stop.Action
  var reason: String?
  var duration: Duration?

  /// Reads the content.
  /// - Parameter isStop: Whether reason and duration are allowed.
  init(_ content: [UInt8], isStop: Bool) throws(Problem) {
    var body = try AdminBody(content)
    let scope = body.text("scope")
    let id = body.text("id")
    let target = scope.flatMap { Stop.Target(scope: $0, id: id) }
    switch scope {
    case "all": if id != nil { body.note("id", "Leave id out with the scope all.") }
    case "app", "caller": if target == nil { body.note("id", "Give the id of the app or caller.") }
    default: body.note("scope", "Give all, app or caller.")
    }
    let action = body.text("action").flatMap(Stop.Action.init(rawValue:))
    if action == nil { body.note("action", "Give one of \(Stop.Action.names.joined(separator: ", ")).") }
    if isStop {
      reason = body.reason()
      duration = Self.duration(&body)
    }
    try body.finish()
    guard let target, let action else { preconditionFailure("neither a value nor a mistake") }
    self.target = target
    self.action = action
  }

  private static func duration(_ body: inout AdminBody) -> Duration? {
    guard let text = body.text("for") else { return nil }
    do throws(Refusal) {
      return try TextForm.duration(Stop.durations).read(text)
    } catch {
      body.note("for", "\(error.message): \(error.remedy).")
      return nil
    }
  }

  /// Makes the requested stop, which begins at a time.
  func stop(at seconds: Int64, by operator: Operator.Identity) -> Stop {
    // Round up, so that the stop does not end early.
    let span = duration.map { $0.wholeSecondsRoundedUp }
    return Stop(
      target, action, since: seconds, until: span.map { seconds.addingClamped(Int64($0)) }, reason: reason,
      by: `operator`)
  }
}

extension Question {
  /// Reads the content of `POST /admin/explain`.
  init(admin content: [UInt8]) throws(Problem) {
    self.init()
    var body = try AdminBody(content)
    action = body.text("action")
    for fact in AskedFact.allCases { self[fact] = body.text(fact.rawValue) }
    if let claims = body.value("claims") {
      do throws(Mistake) {
        try setClaims(claims)
      } catch {
        body.note("claims", error.description)
      }
    }
    if let value = body.value("fields") {
      if value.object == nil { body.note("fields", "Give an object of names and values.") }
      for (name, value) in value.object?.members ?? [] {
        // A repeated field is a list.
        for value in value.array ?? [value] {
          if let text = value.string {
            fields.append((name, text))
          } else {
            body.note("fields.\(name)", "Give a string or a list of strings.")
          }
        }
      }
    }
    if let value = body.value("counts") {
      if value.object == nil { body.note("counts", "Give an object of rule names and counts.") }
      for (rule, value) in value.object?.members ?? [] {
        // Any number: `CountedStates` has the bounds.
        if let count = value.int {
          counts.append((rule, count))
        } else {
          body.note("counts.\(rule)", "Give a whole number.")
        }
      }
    }
    try body.finish()
  }
}
