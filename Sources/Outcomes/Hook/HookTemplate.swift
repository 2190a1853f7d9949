// The message template that a Talkdesk trigger fills in and sends to the webhook.

import JOSE
import JSON

/// The template of a trigger. Talkdesk replaces each `{{placeholder}}` by its value.
package enum HookTemplate {
  /// The members and their placeholders: IDs, phone numbers, times and durations. The contact's phone number
  /// is the only personal data.
  private static let places = [
    ("event", "event"), ("call_id", "call_id"), ("interaction_id", "interaction_id"),
    ("type", "interaction.type"), ("contact_phone_number", "contact_phone_number"),
    ("talkdesk_phone_number", "talkdesk_phone_number"), ("start_time", "start_time"),
    ("timestamp", "timestamp"), ("total_duration", "total_duration"), ("duration", "duration"),
    ("waiting_time", "waiting_time"), ("hold_time", "hold_time"),
  ]

  /// The template of a trigger, with the secret token in its events. Use it only to register the webhook at
  /// Talkdesk.
  package static func exposedText(of trigger: CallTrigger, _ hook: HookSecret) -> String {
    var object: JSONObject = [
      "token": .string(hook.exposedEventToken()), "trigger": .string(trigger.rawValue),
    ]
    for (name, place) in places { object[name] = .string("{{\(place)}}") }
    return String(decoding: object.serialized(), as: UTF8.self)
  }

  /// A hash that identifies a registration. It changes with the URL, the secret and the template.
  package static func mark(of trigger: CallTrigger, _ hook: HookSecret, externalURL: String) -> String {
    let text = [externalURL + hook.exposedPath(), exposedText(of: trigger, hook)].joined(separator: "\n")
    return Hex.encode(SHA256Digest(of: Array(text.utf8)).bytes)
  }
}
