// Reads and checks the `apps` section, including the schema for each app's callback context.

import API
import Callers
import Documents
import Installations
import Texts

extension ConfigurationBuilder {
  /// The id of the app in Talkdesk's own samples.
  static let sampleID = "example-app-ios"

  /// The apps without an `apps` section: the app of Talkdesk's own samples.
  ///
  /// In the sandbox every sample app but the attested one has installations whose codes every caller may
  /// verify. The first app and its twin for Android have the scope of Talkdesk's Mobile SDK. The others show
  /// tokens by push, a chat desk and attestation.
  private func sampleApps(callers: [String]) -> [Configuration.App] {
    let terms = purpose == .sandbox ? InstallationTerms(verifiers: Set(callers), key: .optional) : nil
    func app(
      _ id: String, scope: String? = nil, _ delivery: Configuration.App.Delivery = .response,
      desk: String? = nil
    ) -> Configuration.App {
      Configuration.App(
        id: id, callers: nil, scope: scope, delivery: delivery, desk: desk, talkdeskPhoneNumbers: [],
        contextSchema: nil, installations: terms, appCheck: nil, attested: nil, verificationCode: false)
    }
    var apps = [app(Self.sampleID, scope: terms.map { _ in TokenScopes.mobileSDK })]
    if terms != nil {
      apps.append(app("example-app-android", scope: TokenScopes.mobileSDK))
      apps.append(app("example-app-push", .push))
    }
    if showsSampleDesk { apps.append(app(Self.sampleChatApp, desk: Self.sampleDesk.id)) }
    if showsSampleAttestation { apps.append(Self.sampleAttestedApp) }
    return apps
  }

  /// Reads `apps`.
  mutating func apps(callers: [ConfiguredCaller], allowAnonymous: Bool) -> [Configuration.App] {
    var known = callerIDs(callers)
    if allowAnonymous { known.append(Caller.anonymousID) }
    guard let section = partial.sections["apps"] else { return sampleApps(callers: known) }
    guard let members = open(section, path: "apps") else { return [] }
    return members.node.members.compactMap { member -> Configuration.App? in
      do throws(Refusal) {
        let read: (String) throws(Refusal) -> String = NameText.identifier("an app's id")
        let id = try read(member.name)
        return app(id, member.value, callers: known)
      } catch {
        problems.add(member.place, "apps", error)
        return nil
      }
    }
  }

  /// The ids of all callers, invalid ones included, so that one mistake causes only one problem.
  func callerIDs(_ callers: [ConfiguredCaller]) -> [String] {
    var ids = callers.map(\.id)
    if case .list(let items)? = partial.sections["callers"]?.content {
      for item in items {
        if let id = item["id"]?.text, !ids.contains(exactly: id) { ids.append(id) }
      }
    }
    if place(of: Settings.username) != nil || place(of: Settings.password) != nil,
      !ids.contains(exactly: "default")
    {
      ids.append("default")
    }
    return ids
  }

  private mutating func app(
    _ id: String, _ node: DocumentNode, callers known: [String]
  ) -> Configuration.App? {
    guard var members = open(node, path: "apps.\(id)") else { return nil }
    let caller = TextForm { text throws(Refusal) in
      guard known.contains(exactly: text) else {
        let meant = Spelling.nearest(to: text, among: known)
        throw Refusal(
          "there is no caller \(quoted(text))",
          meant.map { "did you mean \($0)?" } ?? "list it under callers, or remove it here")
      }
      return text
    }
    let callers = members.values(Settings.appCallers.key(caller))
    if callers?.isEmpty == true {
      members.report(
        Refusal(
          at: "callers", "is empty, so no caller could use the app",
          "list a caller, or remove the line to allow every caller"))
    }
    let scope = members.value(Settings.appScope.key())
    let delivery = members.value(Settings.appDelivery.key()) ?? .response
    let desk = members.value(Settings.appDesk.key(deskName))
    if desk != nil, members.has("scope") {
      members.report(
        Refusal(
          at: "scope", "has no effect beside desk, whose session tokens have no scope",
          "remove one of the two"))
    }
    if desk != nil, delivery == .push {
      members.report(
        Refusal(
          at: "delivery", "sends Talkdesk's tokens by push, and this app has the session tokens of its desk",
          "remove one of the two"))
    }
    let numbers = members.values(Settings.appNumbers.key()) ?? []
    if numbers.isEmpty, let node = members.node["talkdesk_phone_numbers"], case .list = node.content {
      problems.note(
        node.place,
        "\(members.name(of: "talkdesk_phone_numbers")) is empty, so the app uses the numbers of callbacks — list its "
          + "numbers, or remove the line")
    }
    let schema = members.node("context_schema").flatMap { node in
      contextSchema(node, path: members.name(of: "context_schema"))
    }
    let installations = members.node("installations").flatMap { node in
      self.installations(node, path: members.name(of: "installations"), caller)
    }
    let verificationCode = members.node("callbacks").map { node in
      self.verificationCode(
        node, path: members.name(of: "callbacks"), hasInstallations: members.has("installations"), schema)
    }
    let trust = trust(&members, installations)
    close(&members, "apps.*.")
    return Configuration.App(
      id: id, callers: callers, scope: scope, delivery: delivery, desk: desk, talkdeskPhoneNumbers: numbers,
      contextSchema: schema,
      installations: installations, appCheck: trust.appCheck, attested: trust.attested,
      verificationCode: verificationCode ?? false)
  }

  /// The form of a desk's name. Invalid desks count as known, so that one mistake causes only one problem.
  private var deskName: TextForm<String> {
    var known: [String] = []
    if case .mapping(let members)? = partial.sections[Self.desksSection]?.content {
      known = members.map(\.name)
    }
    return TextForm { [known] text throws(Refusal) in
      guard known.contains(exactly: text) else {
        let meant = Spelling.nearest(to: text, among: known)
        throw Refusal(
          "there is no desk \(quoted(text))",
          meant.map { "did you mean \($0)?" } ?? "list it under desks, or remove this line")
      }
      return text
    }
  }

  /// Reads `apps.*.callbacks`: whether callbacks of installations have a verification code.
  private mutating func verificationCode(
    _ node: DocumentNode, path: String, hasInstallations: Bool, _ schema: Configuration.ContextSchema?
  ) -> Bool {
    guard var members = open(node, path: path) else { return false }
    let isOn = members.value(Settings.appVerificationCode.key()) ?? false
    if isOn, !hasInstallations {
      members.report(
        Refusal(
          at: "verification_code", "needs installations, whose callbacks alone carry a code",
          "add installations to this app, or remove this line"))
    }
    if isOn, let schema { refuseLookAlikes(in: schema, &members) }
    close(&members, "apps.*.callbacks.")
    return isOn
  }

  /// Refuses fields and labels that an agent could mistake for those that the server adds to a callback with
  /// a verification code.
  private func refuseLookAlikes(in schema: Configuration.ContextSchema, _ members: inout MappingReader) {
    let names = schema.fields.map(\.name) + schema.additions.map(\.name)
    let own = Configuration.App.verificationFields.map(\.name)
    if let taken = own.first(where: names.contains) {
      members.report(
        Refusal(
          at: "verification_code", "makes the server add the field \(taken), which context_schema lists too",
          "rename the field in context_schema, or remove this line"))
    }
    let listed = (own + schema.additions.map(\.name)).map { ExactText($0) }
    let added = Configuration.App.ownLabels([])
    let all = Configuration.App.ownLabels(schema.additions)
    let texts = schema.fields.flatMap { field in
      (listed.contains(ExactText(field.name)) ? [] : [field.name])
        + [field.displayName, field.tooltip].compactMap(\.self)
    }
    let likeness =
      texts.first { all.contains(FoldedLabel($0)) }
      ?? schema.additions.map(\.name).first { !own.contains(exactly: $0) && added.contains(FoldedLabel($0)) }
    guard let likeness else { return }
    members.report(
      Refusal(
        at: "verification_code",
        "makes the server add fields, and \(quoted(likeness)) in context_schema looks like one of them",
        "change that name or label in context_schema, or remove this line"))
  }

  private mutating func installations(
    _ node: DocumentNode, path: String, _ caller: TextForm<String>
  ) -> InstallationTerms? {
    guard var members = open(node, path: path) else { return nil }
    var terms = InstallationTerms()
    if let authorizers = members.values(Settings.installationAuthorizers.key()) {
      terms.authorize = Set(authorizers)
      if authorizers.isEmpty {
        members.report(
          Refusal(
            at: "authorize", "is empty, so no phone could be enrolled",
            "list user, operator or attestation, or remove installations"))
      }
    }
    if let pending = members.value(Settings.installationPending.key()) { terms.pending = pending }
    if let idle = members.value(Settings.installationIdle.key()) { terms.idle = idle }
    if let most = members.value(Settings.installationsPerSubject.key()) { terms.perSubject = most }
    if let key = members.value(Settings.installationKey.key()) { terms.key = key }
    terms.verifiers = Set(members.values(Settings.installationVerifiers.key(caller)) ?? [])
    close(&members, "apps.*.installations.")
    return terms
  }

  private mutating func contextSchema(
    _ node: DocumentNode, path: String
  ) -> Configuration.ContextSchema? {
    guard var members = open(node, path: path) else { return nil }
    let fields = members.node("fields").map { contextFields($0, path: members.name(of: "fields")) } ?? []
    let required = fields.count(where: \.isRequired)
    if required > CallbackLimits.fields {
      members.report(
        Refusal(
          at: "fields", "requires \(required) fields, and a callback has at most \(CallbackLimits.fields)",
          "write required: true for at most \(CallbackLimits.fields)"))
    }
    let additions = members.node("add").map { contextAdditions($0, path: members.name(of: "add")) } ?? []
    let other = members.value(Settings.otherFields.key())
    close(&members, "apps.*.context_schema.")
    for addition in additions where fields.contains(where: { $0.name == addition.name }) {
      problems.add(
        node.place, path,
        Refusal(
          "\(quoted(addition.name)) is listed under fields and under add",
          "keep one of the two"))
    }
    return Configuration.ContextSchema(fields: fields, additions: additions, allowsOthers: other == .allow)
  }

  enum OtherFields: String, CaseIterable, Sendable { case refuse, allow }

  private mutating func contextFields(_ node: DocumentNode, path: String) -> [Configuration.ContextSchema
    .Field]
  {
    guard let members = open(node, path: path) else { return [] }
    return members.node.members.compactMap { member in
      let path = "\(path).\(member.name)"
      guard let name = fieldName(member, path), var field = open(member.value, path: path) else { return nil }
      let displayName = field.value(Settings.fieldDisplayName.key())
      let tooltip = field.value(Settings.fieldTooltip.key())
      let type = field.value(Settings.fieldType.key())
      let length = field.value(Settings.fieldLength.key())
      let isRequired = field.value(Settings.fieldIsRequired.key())
      close(&field, "apps.*.context_schema.fields.*.")
      return Configuration.ContextSchema.Field(
        name: name, displayName: displayName, tooltip: tooltip, dataType: type ?? .text,
        maximumLength: length,
        isRequired: isRequired ?? false)
    }
  }

  private mutating func contextAdditions(
    _ node: DocumentNode, path: String
  ) -> [Configuration.ContextSchema.Addition] {
    guard var members = open(node, path: path) else { return [] }
    let additions = members.node.members.compactMap { member -> Configuration.ContextSchema.Addition? in
      guard let name = fieldName(member, "\(path).\(member.name)"),
        let value = members.value(member.value, at: member.name, Settings.addition.form)
      else { return nil }
      return Configuration.ContextSchema.Addition(name: name, value: value)
    }
    problems.add(contentsOf: members.problems)
    return additions
  }

  private mutating func fieldName(_ member: DocumentNode.Member, _ path: String) -> String? {
    guard (1...255).contains(member.name.utf8.count),
      !member.name.unicodeScalars.contains(where: CallbackLimits.isControl)
    else {
      problems.add(
        member.place, path, Refusal("is not a field's name", "use 1 to 255 bytes without control characters"))
      return nil
    }
    note(unseenIn: member.name, at: member.place)
    return member.name
  }
}
