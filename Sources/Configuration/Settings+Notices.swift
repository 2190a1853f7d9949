// Declares the settings of push notifications: providers, and the texts that phones show.

import Documents
import Notices

extension Settings {
  static let externalURL = TypedSetting(
    Setting(
      "notices.external_url", note: "the first of `external_urls`", example: "https://calls.example.com",
      "URL under which apps reach this server, for links in dialogs."), URLText.base)
  static let fcmAccount = TypedSetting(
    Setting(
      "notices.fcm.service_account_file", .secret, example: "/run/secrets/firebase.json",
      "JSON service account from the Firebase console. Turns on Firebase Cloud Messaging (Android and iOS)."
    ), secretText)
  static let fcmURL = TypedSetting(
    Setting(
      "notices.fcm.url", note: "`https://fcm.googleapis.com`", forTests: true,
      example: "http://localhost:9000",
      "Another base URL of FCM's API, for tests."), URLText.base)
  static let fcmTokenURL = TypedSetting(
    Setting(
      "notices.fcm.token_url", note: "`token_uri` of the service account",
      forTests: true, example: "http://localhost:9000/token",
      "Another token endpoint of Google, for tests. It is the `aud` of assertions too."), URLText.endpoint)
  static let apnsKey = TypedSetting(
    Setting(
      "notices.apns.key_file", .secret, example: "/run/secrets/AuthKey_ABC123DEFG.p8",
      "Signing key from Apple's developer account. Turns on the Apple Push Notification service."),
    secretText)
  static let apnsKeyID = TypedSetting(
    Setting(
      "notices.apns.key_id", example: "ABC123DEFG", "Key id: ten characters."), secretText)
  static let apnsTeamID = TypedSetting(
    Setting(
      "notices.apns.team_id", example: "DEF123GHIJ", "Team id: ten characters."), secretText)
  static let apnsTopic = TypedSetting(
    Setting("notices.apns.topic", example: "com.example.shop", "App's bundle id."), secretText)
  static let apnsEnvironment = TypedSetting(
    Setting(
      "notices.apns.environment", default: "production", example: "sandbox",
      "Where the app's devices are registered: `production`, or `sandbox` for Xcode builds."),
    TextForm<APNsSettings.Environment>.choice)
  static let apnsURL = TypedSetting(
    Setting(
      "notices.apns.url", note: "follows from the environment", forTests: true,
      example: "https://localhost:9443",
      "Another base URL of APNs, for tests."), URLText.base)
  static let hookURL = TypedSetting(
    Setting(
      "notices.http.url", example: "https://push.example.com/notices",
      "Your own receiver: push notifications go there as signed webhooks (Standard Webhooks)."),
    URLText.complete)
  static let hookSecret = TypedSetting(
    Setting(
      "notices.http.secret_file", .secret, example: "/run/secrets/hook",
      "Secrets that all sign webhooks, one a line: `whsec_` and the Base64 of 24 to 64 bytes."), secretText)
  static let accessText = TypedSetting(
    Setting(
      "notices.texts.access", default: "Your secure connection is ready.",
      example: "Your connection is ready.",
      "Notification when a token is ready. Each of these texts has 1 to 200 characters."), shownText)
  static let confirmText = TypedSetting(
    Setting(
      "notices.texts.confirm", default: "We are about to call you. Are you ready?",
      example: "Your call is next. Are you ready?",
      "Notification before an appointment's call."), shownText)
  static let changedText = TypedSetting(
    Setting(
      "notices.texts.changed", default: "Your callback has changed.",
      example: "Your callback has changed.",
      "Notification when a callback has ended and the app does not know yet."),
    shownText)
  static let expiredText = TypedSetting(
    Setting(
      "notices.texts.expired", default: "We could not call you in time.",
      example: "We are sorry that we did not call you.",
      "Notification when an appointment has expired."), shownText)

  static let callingText = TypedSetting(
    Setting(
      "notices.texts.calling", default: "We're calling you now from {number}.",
      example: "Please pick up: {number} is calling.",
      "Notification sent by `appointments.calling`. `{number}` is the number that calls."
    ), shownText)
  static let readyText = TypedSetting(
    Setting(
      "notices.texts.ready", default: "We are ready to call you", example: "It is your turn",
      "Heading of the dialog before a call if agent availability is unknown."), shownText
  )

  /// The settings below `notices`, in the order of the documents.
  static let notices: [Setting] = [
    externalURL.setting, fcmAccount.setting, fcmURL.setting, fcmTokenURL.setting, apnsKey.setting,
    apnsKeyID.setting, apnsTeamID.setting, apnsTopic.setting, apnsEnvironment.setting, apnsURL.setting,
    hookURL.setting, hookSecret.setting, accessText.setting,
    confirmText.setting, changedText.setting, expiredText.setting, callingText.setting, readyText.setting,
  ]

  /// Accepts any text, because the code that uses the value checks it.
  static let secretText: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    text
  }

  /// A text that a phone shows. 200 characters of at most 4 bytes leave room for the rest of a payload of
  /// 4,096 bytes.
  private static let shownText: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    guard (1...200).contains(text.unicodeScalars.count),
      !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else {
      throw Refusal("is not a text for a phone", "write 1 to 200 characters without line breaks")
    }
    return text
  }
}
