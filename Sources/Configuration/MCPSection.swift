// Declares and reads the section `mcp`: the interface for AI agents (Model Context Protocol).

package import Callers
import Documents
import Gate
import Texts
import Trust

extension Configuration {
  /// The settings of `/mcp`: which callers may use it, and for what.
  package struct MCP: Sendable {
    /// A tool that agents may call. The cases have the order of `tools/list`.
    package enum Tool: String, CaseIterable, Sendable {
      case availability
      case requestCallback = "request_callback"
      case callbackStatus = "callback_status"
      case cancelCallback = "cancel_callback"
    }

    /// Whether an agent has to send the customer's consent.
    package enum ConsentTerms: String, CaseIterable, Sendable { case required, optional }

    /// The callers that may use `/mcp`; nil for all.
    package var callers: [String]?
    /// The app of the agents' requests. Nil for the app that an HTTP request of the same caller would have.
    package var app: String?
    package var tools = Set(Tool.allCases)
    package var consent = ConsentTerms.optional
    /// How long after a callback's creation a repeated request returns that callback.
    package var repeats = Duration.seconds(900)
    /// The origins whose pages may use `/mcp`, in addition to the server's own.
    package var origins: [String] = []

    package init() {}
  }

  /// The server's own origins, as browsers send them.
  package var ownOrigins: [String] {
    externalURLs.compactMap { url in
      // Loading the configuration has refused invalid URLs.
      do throws(Refusal) { return URLText.origin(of: try URLText.read(url)) } catch { return nil }
    }
  }

  /// The issuers that agents get tokens from: those of the JWT callers that `mcp.callers` lists.
  package var agentIssuers: [JWTIssuer] {
    guard let allowed = mcp?.callers else { return [] }
    return callers.compactMap { caller in
      guard allowed.contains(exactly: caller.id), case .jwt(let issuer) = caller.proof else { return nil }
      return issuer
    }
  }
}

extension Settings {
  static let mcpCallers = TypedSetting(
    Setting(
      "mcp.callers", .list, example: "talkdesk-ai",
      "Callers whose AI agents may use `POST /mcp`; `anonymous` for requests without credentials."),
    TextForm.text)
  static let mcpApp = TypedSetting(
    Setting(
      "mcp.app", note: "as for an HTTP request of the caller", example: "shop",
      "App of the agents' requests."), TextForm.text)
  static let mcpTools = TypedSetting(
    Setting(
      "mcp.tools", .list, note: "all four", example: "request_callback",
      "Tools for agents: `availability`, `request_callback`, `callback_status`, `cancel_callback`."
    ),
    TextForm<Configuration.MCP.Tool>.choice)
  static let mcpConsent = TypedSetting(
    Setting(
      "mcp.consent", default: "optional", example: "required",
      "Whether `request_callback` needs the customer's consent: `required` or `optional`."),
    TextForm<Configuration.MCP.ConsentTerms>.choice)
  static let mcpRepeat = TypedSetting(
    Setting(
      "mcp.repeat", default: "15m", example: "15m",
      "How long a repeated request returns the first callback: 1 second to 1 day."),
    .duration(.seconds(1) ... .seconds(86_400)))
  static let mcpOrigins = TypedSetting(
    Setting(
      "mcp.origins", .list, example: "\"https://inspector.example\"",
      "Origins whose web pages may use `/mcp`, beside those of `external_urls`."), URLText.origin)

  /// The settings below `mcp`, in the order of the documents.
  static let mcp: [Setting] = [
    mcpCallers.setting, mcpApp.setting, mcpTools.setting, mcpConsent.setting, mcpRepeat.setting,
    mcpOrigins.setting,
  ]
}

extension ConfigurationBuilder {
  /// Reads `mcp`. Nil if nothing in it is set, except in the sandbox, where every caller may then use `/mcp`.
  ///
  /// - Parameters:
  ///   - texts: The names of the configured consent texts.
  ///   - url: The first of `external_urls`.
  mutating func mcp(
    _ callers: [ConfiguredCaller], allowAnonymous: Bool, _ apps: [Configuration.App], _ policy: Policy,
    texts: [String], _ url: String?
  ) -> Configuration.MCP? {
    var mcp = Configuration.MCP()
    let places = Settings.mcp.compactMap { partial.entries[$0]?.place }
    mcp.consent = value(Settings.mcpConsent)
    mcp.repeats = value(Settings.mcpRepeat)
    mcp.origins = list(Settings.mcpOrigins)
    if hasItems(Settings.mcpTools) {
      mcp.tools = Set(list(Settings.mcpTools))
    } else if let place = place(of: Settings.mcpTools) {
      problems.add(place, Settings.mcpTools.setting.name, .nothing)
    }
    mcp.app = stated(Settings.mcpApp)
    let named = list(Settings.mcpCallers)
    guard let place = places.first ?? partial.sections["mcp"]?.place else {
      return purpose == .sandbox ? mcp : nil
    }
    if named.isEmpty {
      problems.add(
        place, Settings.mcpCallers.setting.name,
        Refusal("is missing, so no agent could use mcp", "list the callers of your agents"))
    }
    mcp.callers = named
    let known = callerIDs(callers) + (allowAnonymous ? [Caller.anonymousID] : [])
    for name in named where !known.contains(exactly: name) {
      judge(
        Settings.mcpCallers, "there is no caller \(quoted(name))", near: name, known, "list it under callers")
    }
    if mcp.consent == .required, texts.isEmpty {
      problems.add(
        self.place(of: Settings.mcpConsent) ?? place, Settings.mcpConsent.setting.name,
        Refusal("needs numbers.consent.texts", "add the texts, or make it optional"))
    }
    judgeApp(of: mcp, apps, place)
    noteRules(of: mcp, callers, policy, place)
    for caller in callers where named.contains(exactly: caller.id) {
      guard let url, case .jwt(let issuer) = caller.proof, !issuer.audience.hasSameBytes(as: url + "/mcp")
      else { continue }
      problems.note(
        place,
        "the audience of caller \(caller.id) is not \(url)/mcp: clients that find the issuer by this server's metadata "
          + "request tokens for that URL")
    }
    return mcp
  }

  private mutating func judge(
    _ setting: TypedSetting<String>, _ message: String, near name: String, _ known: [String], _ remedy: String
  ) {
    guard let place = place(of: setting) else { return }
    let meant = Spelling.nearest(to: name, among: known)
    problems.add(place, setting.setting.name, Refusal(message, meant.map { "did you mean \($0)?" } ?? remedy))
  }

  /// Reports an unknown app, and an app that would refuse every request of an agent, or every callback.
  private mutating func judgeApp(
    of mcp: Configuration.MCP, _ apps: [Configuration.App], _ place: DocumentPlace
  ) {
    var known = apps.map(\.id)
    // Invalid apps count as known, so that one mistake causes only one problem.
    if case .mapping(let members)? = partial.sections["apps"]?.content { known += members.map(\.name) }
    if let name = mcp.app, !known.contains(exactly: name) {
      judge(Settings.mcpApp, "there is no app \(quoted(name))", near: name, known, "list it under apps")
    }
    let possible = apps.filter { app in mcp.app.map { app.id.hasSameBytes(as: $0) } ?? true }
    func report(_ app: Configuration.App, _ message: String, _ remedy: String) {
      problems.add(
        self.place(of: Settings.mcpApp) ?? place, Settings.mcpApp.setting.name,
        Refusal("the app \(quoted(app.id)) \(message)", remedy))
    }
    guard let app = possible.first else { return }
    if possible.allSatisfy({ $0.appCheck?.mode == .enforce }) {
      report(app, "has app_check: enforce, and an agent has no App Check token", "name another app")
    }
    if mcp.tools.contains(.requestCallback),
      possible.allSatisfy({ $0.contextSchema?.takesReason == false })
    {
      report(
        app, "has a context_schema that refuses the field reason, or requires another field",
        "let it accept reason as text, or name another app")
    }
  }

  /// Notes a rule that refuses every callback of some agents, and a lack of rules about which numbers agents
  /// can have called.
  private mutating func noteRules(
    of mcp: Configuration.MCP, _ callers: [ConfiguredCaller], _ policy: Policy, _ place: DocumentPlace
  ) {
    guard mcp.tools.contains(.requestCallback) else { return }
    var isGuarded = false
    for rule in policy.rules where rule.actions.contains(.callback) && rule.mode == .enforce {
      let concerned = (mcp.callers ?? []).filter { rule.callers?.contains(exactly: $0) ?? true }
      guard !concerned.isEmpty else { continue }
      switch rule.kind {
      case .quota(_, key: .phone, onStoreFailure: _), .screened: isGuarded = true
      case .ownNumber:
        isGuarded = true
        let others = concerned.filter { id in
          !callers.contains { $0.id.hasSameBytes(as: id) && $0.hasUsers }
        }
        guard !others.isEmpty else { continue }
        problems.note(
          place,
          "rule \(rule.name) refuses every callback of \(others.joined(separator: ", ")), which proves no user's number: "
            + "only a jwt caller does")
      default: continue
      }
    }
    if !isGuarded {
      problems.note(
        place,
        "an agent can have any number called: add a rule own_number or screened, or a quota by phone")
    }
  }
}

extension Configuration.ContextSchema {
  /// Adds the optional field `reason` to a schema, unless the schema refuses other fields. Nil counts as a
  /// schema that allows all fields.
  package init(_ schema: Configuration.ContextSchema?, reasonsOf longest: Int) {
    let reason = Field(
      name: "reason", displayName: nil, tooltip: nil, dataType: .text, maximumLength: longest,
      isRequired: false)
    self.init(
      fields: (schema?.fields ?? []) + (schema?.allowsOthers == false ? [] : [reason]),
      additions: schema?.additions ?? [],
      allowsOthers: schema?.allowsOthers ?? true)
  }

  /// Whether the schema accepts a context whose only field is `reason`, a text.
  fileprivate var takesReason: Bool {
    let field = fields.first { $0.name.hasSameBytes(as: "reason") }
    return !additions.contains { $0.name.hasSameBytes(as: "reason") }
      && field.map { $0.dataType == .text } ?? allowsOthers
      && fields.allSatisfy { !$0.isRequired || $0.name.hasSameBytes(as: "reason") }
  }
}
