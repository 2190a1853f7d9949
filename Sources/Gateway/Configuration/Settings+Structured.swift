// Describes the keys of sections that hold lists, such as `callers` and `apps`, for the generated documents.

import Gate

extension Settings {
  /// The keys of the sections that are lists or name things of the operator's own: declared for the documents, read
  /// by the builder. A test holds the two together.
  static let structured: [Setting] = [
    Setting(
      "callbacks.brakes.number_per_day", default: "\(Brakes().numberPerDay)", example: "6",
      "Built-in limit: callbacks to one number in a day (UTC), under the name `brake-number`. `0` switches the brake off, "
        + "`brakes: off` all of them."),
    Setting(
      "callbacks.brakes.per_5m", default: "\(Brakes().perFiveMinutes)", example: "500",
      "Built-in limit: callbacks of all callers in five minutes, under the name `brake-burst`. `0` switches it off."
    ),
    Setting(
      "callbacks.brakes.per_hour", default: "\(Brakes().perHour)", example: "1000",
      "Built-in limit: callbacks of all callers in an hour, under the name `brake-hour`. `0` switches it off."
    ),
    Setting(
      "callers[].id", example: "ios-app",
      "The caller's name, in logs, rules and `apps`; unique. `anonymous` is taken."),
    Setting(
      "callers[].basic.username", example: "app-user", "User name of an HTTP Basic caller, without a colon."),
    Setting(
      "callers[].basic.password_sha256", holdsSecret: true,
      example: String(repeating: "0", count: 60) + "cafe",
      "SHA-256 of its password in lower-case hex (`printf %s PASSWORD | sha256sum`). For long random passwords only: a "
        + "short one can be found from its digest."),
    Setting(
      "callers[].basic.password_file", .secret, example: "/run/secrets/ios-app-password",
      "A file that holds its password, instead of the digest."),
    Setting(
      "callers[].api_key.sha256", holdsSecret: true, example: String(repeating: "0", count: 60) + "beef",
      "SHA-256 of an API key in lower-case hex; the caller sends the key as `Authorization: Bearer` or `X-API-Key`."
    ),
    Setting(
      "callers[].jwt.issuer", example: "https://id.example",
      "The exact `iss` of an identity provider's tokens."),
    Setting("callers[].jwt.audience", example: "callgate", "The `aud` that must be among a token's."),
    Setting(
      "callers[].jwt.jwks_url", example: "https://id.example/jwks.json",
      "Where the provider publishes its keys. Exactly one of `jwks_url`, `jwks_file` and `hs256_secret_file`."
    ),
    Setting(
      "callers[].jwt.jwks_file", .file, example: "/etc/callgate/jwks.json", "A file with the provider's keys."
    ),
    Setting(
      "callers[].jwt.hs256_secret_file", .secret, example: "/run/secrets/hs256",
      "A file with a secret shared with the provider, 32 bytes or more."),
    Setting(
      "callers[].jwt.subject_claim", default: "sub", example: "sub", "The claim that names the subject."),
    Setting(
      "apps.*.callers[]", note: "every caller", example: "ios-app",
      "The callers that may use the app; `anonymous` for requests without credentials."),
    Setting(
      "apps.*.scope", note: "`talkdesk.scope`", example: "visual-sessions:execute",
      "What its tokens are asked for."),
    Setting(
      "apps.*.talkdesk_phone_numbers[]", holdsPhoneNumber: true, note: "`callbacks.talkdesk_phone_numbers`",
      example: "\"+18500000000\"",
      "The numbers its callbacks may use: the first is the default, the others are allowed."),
    Setting(
      "apps.*.context_schema.fields.*.data_type", default: "text", example: "text",
      "What the value of this field of a callback's context must be: `text`, `phone` or `url`."),
    Setting(
      "apps.*.context_schema.fields.*.max_length", note: "the general limit", example: "200",
      "The longest value, in characters."),
    Setting(
      "apps.*.context_schema.fields.*.required", default: "false", example: "true",
      "Whether the field must be there."),
    Setting(
      "apps.*.context_schema.add.*", example: "ios", "A field the server adds to every callback of the app."),
    Setting(
      "apps.*.context_schema.other", default: "refuse", example: "allow",
      "Whether fields the schema does not name are refused (`refuse`) or pass (`allow`)."),
  ]

  /// Every setting there is.
  package static let all: [Setting] = scalars + structured
}
