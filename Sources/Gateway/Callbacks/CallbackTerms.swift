internal import Gate

/// What the operator has settled for an app's callbacks: the account's numbers and the context.
struct CallbackTerms: Sendable {
  /// The account's numbers that may be used, the default first. Where none is configured a request has to name one, and
  /// Talkdesk, which knows the account's numbers, judges it.
  let talkdeskNumbers: [E164]
  /// What the context may carry; nil takes anything well-formed.
  let schema: Configuration.ContextSchema?

  /// Makes terms.
  init(talkdeskNumbers: [E164], schema: Configuration.ContextSchema? = nil) {
    self.talkdeskNumbers = talkdeskNumbers
    self.schema = schema
  }

  /// The terms of an app, or of requests without one.
  init(app: Configuration.App?, callbacks: Configuration.Callbacks) {
    let own = app?.talkdeskPhoneNumbers ?? []
    let texts = own.isEmpty ? callbacks.talkdeskPhoneNumbers : own
    talkdeskNumbers = texts.map { text in
      do {
        return try E164(text)
      } catch {
        // Loading the configuration refused everything else.
        preconditionFailure("the configuration holds a telephone number that is none")
      }
    }
    schema = app?.contextSchema
  }
}
