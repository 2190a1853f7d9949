// Generates app.json, which tells Heroku's deploy button which variables to ask for.

import Configuration
import JSON

/// Heroku's manifest. Heroku reads it only when it creates an app, so its values are initial values, not
/// defaults.
public enum HerokuManifest {
  /// A variable that the button asks for.
  package struct Question: Sendable {
    let setting: Setting
    /// The value in the form.
    var value: String?
    /// Whether Heroku generates a secret of 64 hexadecimal digits.
    var isGenerated = false
    /// Whether Heroku requires a value before it creates the app.
    var isRequired = false
    /// Where the operator finds the value, or a note about Heroku. It follows the setting's meaning.
    var hint: String?
  }

  /// The variables of the form. Those that only the operator knows come first.
  static let questions = [
    Question(
      setting: Settings.account.setting, isRequired: true,
      hint: "It is the first part of your sign-in address."),
    Question(setting: Settings.region.setting, value: "us"),
    Question(
      setting: Settings.clientID.setting, isRequired: true,
      hint: "Talkdesk shows it in Builder, OAuth Clients, or in AppConnect."),
    Question(
      setting: Settings.clientSecret.setting,
      hint: "Talkdesk shows it once, when you create the client. If you use a key, leave it empty."),
    Question(
      setting: Settings.keyID.setting,
      hint: "Talkdesk sends it with the key. If you use a client secret, leave it empty."),
    Question(
      setting: Settings.privateKey.setting,
      hint: "Paste it as Talkdesk sent it. If you use a client secret, leave it empty."),
    Question(
      setting: Settings.keyAlgorithm.setting, value: "ES256",
      hint: "Talkdesk sends it with the key. The server ignores it with a client secret."),
    Question(setting: Settings.scope.setting, value: "callback:write"),
    Question(setting: Settings.phoneNumber.setting),
    Question(setting: Settings.username.setting, value: "app-user"),
    Question(setting: Settings.password.setting, isGenerated: true),
    Question(
      setting: Settings.configText.setting,
      hint: "Write your apps, callers and rules here. To change them you need no deploy."),
    Question(setting: Settings.adminToken.setting, isGenerated: true),
    Question(setting: Settings.storeKey.setting, isGenerated: true),
    // Heroku's router connects from a private address, and no client can. Its X-Forwarded-For ends with the
    // client.
    Question(
      setting: Settings.trustedProxies.setting, value: "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7",
      hint: "These are the private addresses of Heroku's router."),
    Question(
      setting: Settings.forwardedHops.setting, value: "1", hint: "Heroku's router adds the last entry."),
    Question(
      setting: Settings.drainDelay.setting, value: "3s",
      hint:
        "Heroku's router needs a moment to stop sending requests. Heroku kills the server after 30 seconds."),
  ]

  /// The variables that the button does not ask for, each with the reason.
  static let unasked: [String: String] = [
    "CALLGATE_CONFIG": "a dyno has only the files of the repository",
    "HOST": "the router reaches every address",
    "PORT": "Heroku sets it",
    "TD_TOKEN_URL": "follows from account and region",
    "TD_API_URL": "follows from the region",
    "TD_AUDIENCE": "follows from account and region",
    "CALLGATE_ALLOW_ANONYMOUS": "the form creates a caller",
    "DATABASE_URL": "an add-on sets it",
    "CALLGATE_STATE": "every restart wipes a dyno's disk; DATABASE_URL keeps state",
    "CALLGATE_STORE_PREVIOUS_KEY": "a new app rotates no key",
    "CALLGATE_CA_FILE": "nothing inspects a dyno's TLS",
    "CALLGATE_LOG_LEVEL": "its default is right",
    "CALLGATE_LOG_FORMAT": "its default is right",
    "CALLGATE_RUNBOOKS": "the server has a runbook of its own",
  ]

  /// The whole of app.json; ends with a newline.
  public static var document: String {
    var variables = JSONObject()
    for question in questions {
      guard let name = question.setting.variable else { preconditionFailure("\(question.setting.name)") }
      variables.append(name, .object(member(question)))
    }
    let manifest: JSONValue = [
      "name": "Callgate",
      "description":
        "Issues Talkdesk tokens and requests callbacks for your apps according to your rules.",
      "keywords": ["talkdesk", "callback", "token", "swift"],
      "success_url": "/",
      "stack": "heroku-24",
      "buildpacks": [["url": "vapor/vapor"]],
      "formation": ["web": ["quantity": 1, "size": "basic"]],
      "env": .object(variables),
    ]
    return manifest.indented + "\n"
  }

  private static func member(_ question: Question) -> JSONObject {
    let meaning = ([question.setting.meaning] + [question.hint].compactMap(\.self)).joined(separator: " ")
    var member = JSONObject()
    // The form shows plain text.
    member.append("description", .string(meaning.replacing("`", with: "")))
    if let value = question.value { member.append("value", .string(value)) }
    if question.isGenerated { member.append("generator", .string("secret")) }
    // Heroku requires a variable unless the manifest says otherwise.
    member.append("required", .bool(question.isRequired))
    return member
  }
}
