// Reads and checks the `apps` section, including the schema for each app's callback context.

import API

extension ConfigurationBuilder {
  /// The app of Talkdesk's own samples, known where no `apps` section says otherwise.
  static let sampleApp = Configuration.App(
    id: "example-app-ios", callers: nil, scope: nil, talkdeskPhoneNumbers: [], contextSchema: nil)

  /// `apps`.
  mutating func apps(callers: [Configuration.Caller], allowAnonymous: Bool) -> [Configuration.App] {
    guard let section = partial.sections["apps"] else { return [Self.sampleApp] }
    guard var members = MemberReader(section, path: "apps", into: &problems) else { return [] }
    var known = callerIDs(callers)
    if allowAnonymous { known.append(Configuration.anonymousCaller) }
    return members.all().compactMap { member -> Configuration.App? in
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
  func callerIDs(_ callers: [Configuration.Caller]) -> [String] {
    var ids = callers.map(\.id)
    if case .list(let items)? = partial.sections["callers"]?.content {
      for item in items {
        guard case .mapping(let members) = item.content, let id = members.first(where: { $0.name == "id" }),
          case .text(let text, _) = id.value.content, !ids.contains(text)
        else { continue }
        ids.append(text)
      }
    }
    if place(of: Settings.username) != nil || place(of: Settings.password) != nil, !ids.contains("default") {
      ids.append("default")
    }
    return ids
  }

  private mutating func app(
    _ id: String, _ node: ConfigurationNode, callers known: [String]
  ) -> Configuration.App? {
    guard var members = MemberReader(node, path: "apps.\(id)", into: &problems) else { return nil }
    let callers = members.list("callers", into: &problems) { text throws(Refusal) in
      guard known.contains(text) else {
        let meant = Spelling.nearest(to: text, among: known)
        throw Refusal(
          "there is no caller \(quoted(text))",
          meant.map { "did you mean \($0)?" } ?? "list it under callers, or remove it here")
      }
      return text
    }
    if let callers, callers.isEmpty, let list = members.node("callers"), case .list(let items) = list.content,
      items.isEmpty
    {
      problems.add(
        list.place, members.name(of: "callers"),
        Refusal(
          "is empty: nobody could use the app", "list a caller, or remove the line to let every caller in"))
    }
    let scope = members.value("scope", into: &problems, NameText.scope)
    let numbers = members.list("talkdesk_phone_numbers", into: &problems, PhoneNumberText.read) ?? []
    refuseTwins(callers ?? [], members.name(of: "callers"))
    refuseTwins(numbers, members.name(of: "talkdesk_phone_numbers"))
    let schema = members.node("context_schema").flatMap { node in
      contextSchema(node, path: members.name(of: "context_schema"))
    }
    members.finish(into: &problems)
    return Configuration.App(
      id: id, callers: callers?.map(\.value), scope: scope, talkdeskPhoneNumbers: numbers.map(\.value),
      contextSchema: schema)
  }

  private mutating func refuseTwins(_ items: [(value: String, place: ConfigurationPlace)], _ name: String) {
    var seen: Set<String> = []
    for item in items where !seen.insert(item.value).inserted {
      problems.add(item.place, name, Refusal("holds an item twice", "keep one of them"))
    }
  }

  private mutating func contextSchema(
    _ node: ConfigurationNode, path: String
  ) -> Configuration.ContextSchema? {
    guard var members = MemberReader(node, path: path, into: &problems) else { return nil }
    let fields = members.node("fields").map { contextFields($0, path: members.name(of: "fields")) } ?? []
    let additions = members.node("add").map { contextAdditions($0, path: members.name(of: "add")) } ?? []
    let other = members.value(
      "other", into: &problems, ChoiceText.reader("answer to other fields", OtherFields.self))
    members.finish(into: &problems)
    for addition in additions where fields.contains(where: { $0.name == addition.name }) {
      problems.add(
        node.place, path,
        Refusal(
          "\(quoted(addition.name)) is both a field and added",
          "a client's field cannot also be the server's: keep one"))
    }
    return Configuration.ContextSchema(fields: fields, additions: additions, allowsOthers: other == .allow)
  }

  private enum OtherFields: String, CaseIterable, Sendable { case refuse, allow }

  private mutating func contextFields(_ node: ConfigurationNode, path: String) -> [Configuration.ContextSchema
    .Field]
  {
    guard var members = MemberReader(node, path: path, into: &problems) else { return [] }
    return members.all().compactMap { member in
      let path = "\(path).\(member.name)"
      guard let name = fieldName(member, path),
        var field = MemberReader(member.value, path: path, into: &problems)
      else { return nil }
      let type = field.value(
        "data_type", into: &problems,
        ChoiceText.reader("data type", Configuration.ContextSchema.DataType.self))
      let length = field.value(
        "max_length", into: &problems,
        NumberText.reader(1...CallbackLimits.contentBytes, of: "a number of characters"))
      let isRequired = field.value("required", into: &problems, BooleanText.read)
      field.finish(into: &problems)
      return Configuration.ContextSchema.Field(
        name: name, dataType: type ?? .text, maximumLength: length, isRequired: isRequired ?? false)
    }
  }

  private mutating func contextAdditions(
    _ node: ConfigurationNode, path: String
  ) -> [Configuration.ContextSchema.Addition] {
    guard var members = MemberReader(node, path: path, into: &problems) else { return [] }
    return members.all().compactMap { member in
      guard let name = fieldName(member, "\(path).\(member.name)"),
        let value = members.value(member.name, into: &problems, Self.addedValue)
      else { return nil }
      return Configuration.ContextSchema.Addition(name: name, value: value)
    }
  }

  /// The value of a field the server adds: held to what a client's would be.
  private static let addedValue: @Sendable (String) throws(Refusal) -> String = { text throws(Refusal) in
    guard !text.unicodeScalars.contains(where: ContextText.isControl) else {
      throw Refusal("holds control characters", "leave out line breaks, tabs and the like")
    }
    guard text.unicodeScalars.count <= CallbackLimits.valueLength else {
      throw Refusal("is longer than \(CallbackLimits.valueLength) characters", "shorten it")
    }
    return text
  }

  private mutating func fieldName(_ member: ConfigurationNode.Member, _ path: String) -> String? {
    guard (1...255).contains(member.name.utf8.count),
      !member.name.unicodeScalars.contains(where: ContextText.isControl)
    else {
      problems.add(
        member.place, path, Refusal("is not a field's name", "use 1 to 255 bytes without control characters"))
      return nil
    }
    return member.name
  }
}
