// Reads and checks the `apps` section, including the schema for each app's callback context.

import API
import Callers
import Documents

extension ConfigurationBuilder {
  /// The app of Talkdesk's own samples, known where no `apps` section says otherwise.
  static let sampleApp = Configuration.App(
    id: "example-app-ios", callers: nil, scope: nil, talkdeskPhoneNumbers: [], contextSchema: nil)

  /// `apps`.
  mutating func apps(callers: [ConfiguredCaller], allowAnonymous: Bool) -> [Configuration.App] {
    guard let section = partial.sections["apps"] else { return [Self.sampleApp] }
    guard let members = open(section, path: "apps") else { return [] }
    var known = callerIDs(callers)
    if allowAnonymous { known.append(Caller.anonymousID) }
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

  /// The ids of callers, those with problems of their own included: one slip is one problem.
  func callerIDs(_ callers: [ConfiguredCaller]) -> [String] {
    var ids = callers.map(\.id)
    if case .list(let items)? = partial.sections["callers"]?.content {
      for item in items {
        if let id = item["id"]?.text, !ids.contains(id) { ids.append(id) }
      }
    }
    if place(of: Settings.username) != nil || place(of: Settings.password) != nil, !ids.contains("default") {
      ids.append("default")
    }
    return ids
  }

  private mutating func app(
    _ id: String, _ node: DocumentNode, callers known: [String]
  ) -> Configuration.App? {
    guard var members = open(node, path: "apps.\(id)") else { return nil }
    let caller = TextForm { text throws(Refusal) in
      guard known.contains(text) else {
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
    let numbers = members.values(Settings.appNumbers.key()) ?? []
    let schema = members.node("context_schema").flatMap { node in
      contextSchema(node, path: members.name(of: "context_schema"))
    }
    close(&members, "apps.*.")
    return Configuration.App(
      id: id, callers: callers, scope: scope, talkdeskPhoneNumbers: numbers, contextSchema: schema)
  }

  private mutating func contextSchema(
    _ node: DocumentNode, path: String
  ) -> Configuration.ContextSchema? {
    guard var members = open(node, path: path) else { return nil }
    let fields = members.node("fields").map { contextFields($0, path: members.name(of: "fields")) } ?? []
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
      let type = field.value(Settings.fieldType.key())
      let length = field.value(Settings.fieldLength.key())
      let isRequired = field.value(Settings.fieldIsRequired.key())
      close(&field, "apps.*.context_schema.fields.*.")
      return Configuration.ContextSchema.Field(
        name: name, dataType: type ?? .text, maximumLength: length, isRequired: isRequired ?? false)
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
    return member.name
  }
}
