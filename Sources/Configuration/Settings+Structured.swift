// Declares the settings of callers, apps, chat desks, appointments, brakes and GMS, and the shape of the
// whole file.

import API
import Callers
import ChatDesk
package import Documents
import Gate
import Installations

extension Settings {
  static let brakePerDay = TypedSetting(
    Setting(
      "callbacks.brakes.number_per_day", default: "\(Brakes().numberPerDay)", example: "6",
      "Safety limit `brake-number`: callbacks to one number in a day (UTC). `0` turns a limit off, `brakes: "
        + "off` all of them."), brake)
  static let brakePer5m = TypedSetting(
    Setting(
      "callbacks.brakes.per_5m", default: "\(Brakes().perFiveMinutes)", example: "500",
      "Safety limit `brake-burst`: callbacks by all callers in five minutes."), brake)
  static let brakePerHour = TypedSetting(
    Setting(
      "callbacks.brakes.per_hour", default: "\(Brakes().perHour)", example: "1000",
      "Safety limit `brake-hour`: callbacks by all callers in an hour."), brake)
  static let slot = TypedSetting(
    Setting(
      "appointments.slot", default: "15m", example: "15m",
      "Length of a slot: 1 minute to 1 day, in whole seconds."),
    wholeSeconds(.seconds(60) ... .seconds(86_400)))
  static let perSlot = TypedSetting(
    Setting(
      "appointments.per_slot", default: "20", example: "20",
      "How many appointments fit into a slot, for all callers together: 1 to 10,000."),
    .number(1...10_000, of: "a number of appointments"))
  static let horizon = TypedSetting(
    Setting(
      "appointments.horizon", default: "30d", example: "30d",
      "How far ahead a callback may be booked: more than `earliest`, at most 400 days."),
    .duration(.seconds(60) ... .seconds(400 * 86_400)))
  static let earliest = TypedSetting(
    Setting(
      "appointments.earliest", default: "5m", example: "5m",
      "Minimum notice for a booking."),
    .duration(.zero ... .seconds(400 * 86_400)))
  static let late = TypedSetting(
    Setting(
      "appointments.late", default: "3m", example: "3m",
      "How late an appointment's call may still be made: 1 second to 1 hour."),
    .duration(.seconds(1) ... .seconds(3600)))
  static let perNumber = TypedSetting(
    Setting(
      "appointments.per_number", default: "1", example: "1",
      "How many scheduled appointments one owner may have for one number: 1 to 100."),
    .number(1...100, of: "a number of appointments"))
  static let confirmBefore = TypedSetting(
    Setting(
      "appointments.confirm.before", default: "2m", example: "2m",
      "How long before the call the phone shows \"Are you ready?\": 10 seconds to 1 hour. Later bookings are called "
        + "without asking."),
    .duration(.seconds(10) ... .seconds(3600)))
  static let confirmSilence = TypedSetting(
    Setting(
      "appointments.confirm.silence", default: "call", example: "cancel",
      "If the customer does not answer: `call` or `cancel`. If no push provider accepted the notification, the call is "
        + "made."), TextForm<Configuration.Appointments.Silence>.choice)
  static let confirmSnooze = TypedSetting(
    Setting(
      "appointments.confirm.snooze", default: "5m", example: "5m",
      "How long the customer can postpone the call: 1 minute to 1 hour, in whole minutes."),
    wholeMinutes(.seconds(60) ... .seconds(3600)))
  static let confirmSnoozes = TypedSetting(
    Setting(
      "appointments.confirm.snoozes", default: "3", example: "3",
      "How often the customer can postpone the call: 0 to 10."), .number(0...10, of: "a number of times"))
  static let calling = TypedSetting(
    Setting(
      "appointments.calling", default: "false", example: "true",
      "Whether the phone gets a notification once Talkdesk has accepted its appointment's call."),
    TextForm.boolean)
  static let gmsApp = TypedSetting(
    Setting(
      "gms.services.*.app", required: "write app: and the name of an app", example: "shop",
      "App behind the Genesys Mobile Services service of this name."),
    TextForm.text)
  static let gmsQueries = TypedSetting(
    Setting(
      "gms.services.*.query_by_number", default: "false", example: "true",
      "Whether Basic, API key and anonymous callers find their callbacks by number. Anyone with the app's password can "
        + "then read and cancel a stranger's callback."),
    TextForm.boolean)
  static let deskKind = TypedSetting(
    Setting(
      "desks.*.kind", required: "write kind: sendbird", example: "sendbird",
      "Kind of chat desk: `sendbird`."), TextForm<Configuration.Desk.Kind>.choice)
  static let deskApplication = TypedSetting(
    Setting(
      "desks.*.application_id", required: "give the id of your Sendbird application",
      example: "1A2B3C4D-0000-4000-8000-5E6F7A8B9C0D", "Id of the Sendbird application."), applicationID)
  static let deskToken = TypedSetting(
    Setting(
      "desks.*.api_token_file", .secret, example: "/run/secrets/sendbird-api-token",
      "A file with the application's API token (master token)."), NameText.path)
  static let deskTokenLife = TypedSetting(
    Setting(
      "desks.*.token_life", default: "1h", example: "1h",
      "Lifetime of a session token: 1 minute to 30 days."),
    .duration(.seconds(60) ... .seconds(30 * 86_400)))
  static let deskUserID = TypedSetting(
    Setting(
      "desks.*.user_id", default: "{subject}", example: "\"{caller}:{subject}\"",
      "User's Sendbird id: `{subject}` is the authenticated subject, `{caller}` its caller. Above 80 characters it "
        + "becomes a SHA-256 in hex."), userIDForm)
  static let deskURL = TypedSetting(
    Setting(
      "desks.*.url", note: "`https://api-APPLICATION_ID.sendbird.com`",
      example: "https://api-1A2B3C4D-0000-4000-8000-5E6F7A8B9C0D.sendbird.com",
      "Host of Sendbird's platform API."), URLText.base)
  static let deskAPIToken = TypedSetting(
    Setting(
      "desks.*.desk_api_token_file", .secret, example: "/run/secrets/sendbird-desk-api-token",
      "A file with the API token of Sendbird Desk, which lets users open tickets."), NameText.path)
  static let deskAPIURL = TypedSetting(
    Setting(
      "desks.*.desk_url", note: "`https://desk-api-APPLICATION_ID.sendbird.com`",
      example: "https://desk-api-1A2B3C4D-0000-4000-8000-5E6F7A8B9C0D.sendbird.com",
      "Host of Sendbird Desk's API."), URLText.base)
  static let callerID = TypedSetting(
    Setting(
      "callers[].id", required: "give it a name: id: ios-app", example: "ios-app",
      "Caller's unique name in logs, rules and `apps`, except `anonymous` and `installation`."),
    callerName)
  static let basicUsername = TypedSetting(
    Setting(
      "callers[].basic.username", required: "give it a username", example: "app-user",
      "User name of an HTTP Basic caller, without a colon."), CallerText.username)
  static let basicDigest = TypedSetting(
    Setting(
      "callers[].basic.password_sha256", holdsSecret: true,
      example: String(repeating: "0", count: 60) + "cafe",
      "SHA-256 of its long random password in lower-case hex (`printf %s PASSWORD | sha256sum`)."),
    DigestText.form)
  static let basicStrong = TypedSetting(
    Setting(
      "callers[].basic.strong", default: "false", example: "true",
      "With `password_sha256`: whether the password has at least 20 characters. The server then accepts it even while "
        + "its address is slowed down for wrong passwords."),
    .boolean)
  static let basicFile = TypedSetting(
    Setting(
      "callers[].basic.password_file", .secret, example: "/run/secrets/ios-app-password",
      "A file with its password, instead of the digest."), NameText.path)
  static let keyDigest = TypedSetting(
    Setting(
      "callers[].api_key.sha256", holdsSecret: true,
      required: "give the key's digest: printf %s 'THE KEY' | sha256sum",
      example: String(repeating: "0", count: 60) + "beef",
      "SHA-256 of an API key in lower-case hex."
    ), DigestText.form)
  static let jwtIssuer = TypedSetting(
    Setting(
      "callers[].jwt.issuer", required: "give the exact iss of its tokens", example: "https://id.example",
      "Exact `iss` of an identity provider's tokens."), NameText.visible("an issuer"))
  static let jwtAudience = TypedSetting(
    Setting(
      "callers[].jwt.audience", required: "give the aud its tokens carry for this server",
      example: "callgate", "A value that a token's `aud` must contain."),
    NameText.visible("an audience"))
  static let jwtURL = TypedSetting(
    Setting(
      "callers[].jwt.jwks_url", example: "https://id.example/jwks.json",
      "URL of the provider's keys. Set exactly one of `jwks_url`, `jwks_file` and `hs256_secret_file`."),
    URLText.complete)
  static let jwtFile = TypedSetting(
    Setting(
      "callers[].jwt.jwks_file", .file, example: "/etc/callgate/jwks.json", "A file with the provider's keys."
    ), NameText.path)
  static let jwtSecret = TypedSetting(
    Setting(
      "callers[].jwt.hs256_secret_file", .secret, example: "/run/secrets/hs256",
      "A file with the secret shared with the provider, 32 bytes or more."), NameText.path)
  static let jwtSubject = TypedSetting(
    Setting(
      "callers[].jwt.subject_claim", default: "sub", example: "sub", "Claim with the subject."),
    NameText.claim)
  static let appCallers = TypedSetting(
    Setting(
      "apps.*.callers[]", note: "every caller", example: "ios-app",
      "Callers that may use the app; `anonymous` for requests without credentials."), TextForm.text)
  static let appScope = TypedSetting(
    Setting(
      "apps.*.scope", note: "`talkdesk.scope`", example: "visual-sessions:execute",
      "OAuth scope of its tokens."), NameText.scope)
  static let appDelivery = TypedSetting(
    Setting(
      "apps.*.delivery", default: "response", example: "push",
      "How tokens reach the app: in the `response`, or by `push` to an installation's device. `push` needs "
        + "`installations` and a provider in `notices`."),
    TextForm<Configuration.App.Delivery>.choice)
  static let appNumbers = TypedSetting(
    Setting(
      "apps.*.talkdesk_phone_numbers[]", holdsPhoneNumber: true, note: "`callbacks.talkdesk_phone_numbers`",
      example: "\"+18500000000\"",
      "Numbers that its callbacks may use. The first is the default."),
    PhoneNumberText.read)
  static let appDesk = TypedSetting(
    Setting(
      "apps.*.desk", example: "chat",
      "Chat desk whose session tokens the app gets instead of Talkdesk's. The app's callers need their own users."
    ),
    TextForm.text)
  static let installationAuthorizers = TypedSetting(
    Setting(
      "apps.*.installations.authorize[]", note: "`user`, `operator`", example: "operator",
      "Who may approve an installation: `user` (the user's JWT), `operator` (a user code) or `attestation` (the app's "
        + "proof). With another one, `attestation` is an extra condition."),
    TextForm<InstallationTerms.Authorizer>.choice)
  static let installationPending = TypedSetting(
    Setting(
      "apps.*.installations.pending", default: "10m", example: "10m",
      "How long an enrollment waits for an operator: 1 minute to 1 day."),
    TextForm.duration(.seconds(60) ... .seconds(86_400)))
  static let installationIdle = TypedSetting(
    Setting(
      "apps.*.installations.idle", default: "180d", example: "180d",
      "How long an unused installation lives: 1 minute to 10 years."),
    TextForm.duration(.seconds(60) ... .seconds(3650 * 86_400)))
  static let installationsPerSubject = TypedSetting(
    Setting(
      "apps.*.installations.per_subject", default: "10", example: "10",
      "How many installations of this app one user may have: 1 to 1,000."),
    .number(1...1000, of: "a number of installations"))
  static let installationKey = TypedSetting(
    Setting(
      "apps.*.installations.key", default: "off", example: "optional",
      "Whether phones sign each request with their own key (DPoP): `off`, `optional` or `required`. With `required` no "
        + "other credential is needed."),
    TextForm<InstallationTerms.KeyDemand>.choice)
  static let installationVerifiers = TypedSetting(
    Setting(
      "apps.*.installations.verifiers[]", note: "no caller", example: "studio",
      "Callers that may verify codes of the app's installations (`POST /codes/verify`)."), TextForm.text)
  static let appVerificationCode = TypedSetting(
    Setting(
      "apps.*.callbacks.verification_code", default: "false", example: "true",
      "Whether a callback carries a code that the agent sees and the app shows. Needs `installations`."),
    TextForm.boolean)
  static let fieldDisplayName = TypedSetting(
    Setting(
      "apps.*.context_schema.fields.*.display_name", note: "the client's, or the name", example: "Issue",
      "Label that the agent sees."), label)
  static let fieldTooltip = TypedSetting(
    Setting(
      "apps.*.context_schema.fields.*.tooltip", note: "the client's, or the name",
      example: "What the customer asks about",
      "Tooltip that the agent sees."), label)
  static let fieldType = TypedSetting(
    Setting(
      "apps.*.context_schema.fields.*.data_type", default: "text", example: "text",
      "Field's type: `text`, `phone` or `url`."),
    TextForm<Configuration.ContextSchema.DataType>.choice)
  static let fieldLength = TypedSetting(
    Setting(
      "apps.*.context_schema.fields.*.max_length", note: "the general limit", example: "200",
      "Maximum characters in the value."),
    TextForm.number(1...CallbackLimits.contentBytes, of: "a number of characters"))
  static let fieldIsRequired = TypedSetting(
    Setting(
      "apps.*.context_schema.fields.*.required", default: "false", example: "true",
      "Whether the field is required."), TextForm.boolean)
  static let addition = TypedSetting(
    Setting(
      "apps.*.context_schema.add.*", example: "ios",
      "A field that the server adds to every callback of the app."),
    addedValue)
  static let otherFields = TypedSetting(
    Setting(
      "apps.*.context_schema.other", default: "refuse", example: "allow",
      "Whether to `refuse` or `allow` fields outside the schema."),
    TextForm<ConfigurationBuilder.OtherFields>.choice)

  /// All settings that are not in `scalars`.
  static let structured: [Setting] =
    operators + [
      brakePerDay.setting,
      brakePer5m.setting,
      brakePerHour.setting,
      brakeLookups.setting,
      slot.setting,
      perSlot.setting,
      horizon.setting,
      earliest.setting,
      late.setting,
      perNumber.setting,
      confirmBefore.setting,
      confirmSilence.setting,
      confirmSnooze.setting,
      confirmSnoozes.setting,
      calling.setting,
      gmsApp.setting,
      gmsQueries.setting,
      deskKind.setting,
      deskApplication.setting,
      deskToken.setting,
      deskTokenLife.setting,
      deskUserID.setting,
      deskURL.setting,
      deskAPIToken.setting,
      deskAPIURL.setting,
      callerID.setting,
      basicUsername.setting,
      basicDigest.setting,
      basicStrong.setting,
      basicFile.setting,
      keyDigest.setting,
      jwtIssuer.setting,
      jwtAudience.setting,
      jwtURL.setting,
      jwtFile.setting,
      jwtSecret.setting,
      jwtSubject.setting,
      appCallers.setting,
      appScope.setting,
      appDelivery.setting,
      appDesk.setting,
      appNumbers.setting,
      installationAuthorizers.setting,
      installationPending.setting,
      installationIdle.setting,
      installationsPerSubject.setting,
      installationKey.setting,
      installationVerifiers.setting,
      appVerificationCode.setting,
      fieldDisplayName.setting,
      fieldTooltip.setting,
      fieldType.setting,
      fieldLength.setting,
      fieldIsRequired.setting,
      addition.setting,
      otherFields.setting,
      appCheckMode.setting,
      attestedMode.setting,
      attestedPerDay.setting,
      attestedAppCheck.setting,
      attestedAppID.setting,
      attestedAtLeast.setting,
      attestedPackage.setting,
      attestedCertificates.setting,
      attestedDevice.setting,
      attestedLicence.setting,
      appCheckNumber.setting,
      appCheckProject.setting,
      appCheckKeys.setting,
      appCheckConsume.setting,
      appCheckAccount.setting,
      appCheckURL.setting,
      appAttestEnvironments.setting,
      appAttestCategories.setting,
      appAttestRoot.setting,
      playAccount.setting,
      playMaximumAge.setting,
      playURL.setting,
      playTokenURL.setting,
      numberClaim.setting,
      numberVerified.setting,
      numberProject.setting,
      numberProjectID.setting,
      numberKeys.setting,
      numberRemember.setting,
      consentText.setting,
    ] + screening

  /// Every setting there is.
  package static let all: [Setting] = scalars + structured

  /// Groups of keys of which exactly one is required, by the prefix of their paths.
  static let exactlyOne = [
    "desks.*.": ["api_token_file", "api_token_variable"],
    "callers[].": ["basic", "api_key", "jwt"],
    "callers[].basic.": ["password_sha256", "password_file", "password_variable"],
    "callers[].jwt.": keySources, "admin.jwt.": keySources,
  ]

  private static let keySources = [
    "jwks_url", "jwks_file", "jwks_variable", "hs256_secret_file", "hs256_secret_variable",
  ]

  private static let brake = TextForm.number(0...Int(Brakes.maximum), of: "a number of callbacks")

  private static func wholeSeconds(_ range: ClosedRange<Duration>) -> TextForm<Duration> {
    let duration = TextForm.duration(range)
    return TextForm(duration.schema) { text throws(Refusal) in
      let span = try duration.read(text)
      guard span.milliseconds.isMultiple(of: 1000) else {
        throw Refusal("\(quoted(text)) is not a whole number of seconds", "leave the milliseconds out")
      }
      return span
    }
  }

  private static func wholeMinutes(_ range: ClosedRange<Duration>) -> TextForm<Duration> {
    let duration = TextForm.duration(range)
    return TextForm(duration.schema) { text throws(Refusal) in
      let span = try duration.read(text)
      guard span.milliseconds.isMultiple(of: 60_000) else {
        throw Refusal("\(quoted(text)) is not a whole number of minutes", "write whole minutes, such as 5m")
      }
      return span
    }
  }

  /// The id of a Sendbird application. It becomes part of a host name's label, after `api-`.
  private static let applicationID: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    let isLabel = text.utf8.allSatisfy { octet in
      switch octet {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D: true
      default: false
      }
    }
    guard isLabel, (1...59).contains(text.utf8.count), text.utf8.last != 0x2D else {
      throw Refusal(
        "\(quoted(text)) is not an application id", "copy it from the dashboard: letters, digits and hyphens")
    }
    return text
  }

  private static let userIDForm: @Sendable (String) throws(Refusal) -> UserIDForm = { text throws(Refusal) in
    guard let form = UserIDForm(text) else {
      throw Refusal(
        "\(quoted(text)) does not make a user id of a subject",
        "write {subject} once and {caller} at most once, with visible ASCII around them")
    }
    return form
  }

  private static let callerName: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    let id = try NameText.identifier("a caller's id")(text)
    guard id != Caller.anonymousID else {
      throw Refusal("\"anonymous\" is the caller of requests without credentials", "choose another id")
    }
    guard id != Caller.installationID else {
      throw Refusal("\"installation\" is the caller of every installation", "choose another id")
    }
    return id
  }

  /// The value of a field that the server adds. It follows the rules for a client's values.
  private static let addedValue = contextText(longest: CallbackLimits.valueLength)

  /// A label or tooltip of a field, which the agent sees. It follows the rules for a client's labels.
  private static let label = contextText(longest: CallbackLimits.labelLength)

  private static func contextText(
    longest: Int
  ) -> @Sendable (String) throws(Refusal) -> String {
    { text throws(Refusal) in
      guard !text.unicodeScalars.contains(where: CallbackLimits.isControl) else {
        throw Refusal("contains control characters", "leave out line breaks, tabs and the like")
      }
      guard text.unicodeScalars.count <= longest else {
        throw Refusal("is longer than \(longest) characters", "shorten it")
      }
      return text
    }
  }
}

// MARK: The shape of the file

extension Settings {
  /// The shape of `callgate.yaml`.
  package static let shape = tree.shape

  /// The keys below the prefix of a path, such as `listen.tls.`, in the order of their declaration.
  static func keys(below prefix: String) -> [any DeclaredKey] { tree.keys[prefix] ?? [] }

  /// All keys, by the prefix of their paths. Collected once, because reading a file needs the keys of each
  /// section.
  private static let tree: (shape: Shape, keys: [String: [any DeclaredKey]]) = {
    var keys: [String: [any DeclaredKey]] = [:]
    let shape = collect(&keys, below: "")
    return (shape, keys)
  }()

  private static func collect(_ known: inout [String: [any DeclaredKey]], below prefix: String) -> Shape {
    var keys: [any DeclaredKey] = []
    for setting in all {
      guard let path = setting.path, path.hasPrefix(prefix) else { continue }
      let rest = path.dropFirst(prefix.count)
      let part = rest.prefix { $0 != "." }
      let name = part.hasSuffix("[]") ? String(part.dropLast(2)) : String(part)
      guard !keys.contains(where: { $0.name == name }) else { continue }
      var shape =
        rest == part ? Shape.text(setting.schema) : collect(&known, below: prefix + part + ".")
      if setting.form == .list && rest == part || name != part { shape = .list(shape) }
      if prefix + name == ConfigurationBuilder.brakesSection {
        shape = .either(.text(.words([ConfigurationBuilder.brakesOff])), shape)
      }
      let own = rest == part ? setting : nil
      keys.append(NestedKey(name, shape, required: own?.remedy, own?.meaning ?? ""))
      if let own, let variable = own.variableKey { keys.append(variable) }
    }
    if prefix.isEmpty { keys.append(NestedKey("rules", Policy.shape, "The business rules.")) }
    known[prefix] = keys
    if keys.count == 1, keys[0].name == "*" { return .named(keys[0].shape) }
    return .mapping(keys, exactlyOne: exactlyOne[prefix] ?? [])
  }
}
