// The message that a trigger of Talkdesk's fills in and sends to the hook.

import JOSE
import JSON

/// What a trigger sends: Talkdesk replaces each `{{place}}` by its text.
package enum HookTemplate {
  /// The members and their places: ids, numbers, times and durations. No place says something of a person.
  private static let places = [
    ("event", "event"), ("call_id", "call_id"), ("interaction_id", "interaction_id"),
    ("type", "interaction.type"), ("contact_phone_number", "contact_phone_number"),
    ("talkdesk_phone_number", "talkdesk_phone_number"), ("start_time", "start_time"),
    ("timestamp", "timestamp"), ("total_duration", "total_duration"), ("duration", "duration"),
    ("waiting_time", "waiting_time"), ("hold_time", "hold_time"),
  ]

  /// The template of a trigger, with the token that its events carry: for the moment it is given to Talkdesk.
  package static func exposedText(of trigger: CallTrigger, _ hook: HookSecret) -> String {
    var object: JSONObject = [
      "token": .string(hook.exposedEventToken()), "trigger": .string(trigger.rawValue),
    ]
    for (name, place) in places { object[name] = .string("{{\(place)}}") }
    return String(decoding: object.serialized(), as: UTF8.self)
  }

  /// Identifies a registration: of another URL, secret or template it is another one.
  package static func mark(of trigger: CallTrigger, _ hook: HookSecret, externalURL: String) -> String {
    let text = [externalURL + hook.exposedPath(), exposedText(of: trigger, hook)].joined(separator: "\n")
    return Hex.encode(SHA256Digest(of: Array(text.utf8)).bytes)
  }
}
