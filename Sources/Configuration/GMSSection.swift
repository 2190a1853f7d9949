// Reads the section `gms`: services of Genesys Mobile Services (GMS) that published apps still request.

import Documents
public import Texts

extension Configuration {
  /// The services that GMS clients may request.
  public struct GMS: Sendable {
    /// A service, under the name that the clients use.
    public struct Service: Hashable, Sendable {
      /// The app behind the service.
      @Exact public package(set) var app: String
      /// Whether callers without a subject of their own may query callbacks by phone number.
      public package(set) var queriesByNumber: Bool
    }

    /// The services by name.
    public package(set) var services: [ExactText: Service]
  }
}

extension ConfigurationBuilder {
  static let gmsSection = "gms"
  /// The name of the sandbox's service.
  static let sampleService = "support"

  /// Reads `gms`. Nil without the section, except in the sandbox: there the first app that gets Talkdesk
  /// tokens in the response has a service, so that GMS can be tried.
  mutating func gms(_ apps: [Configuration.App]) -> Configuration.GMS? {
    guard let section = partial.sections[Self.gmsSection] else {
      guard purpose == .sandbox, let app = apps.first(where: { $0.desk == nil && $0.delivery == .response })
      else { return nil }
      return Configuration.GMS(
        services: [ExactText(Self.sampleService): .init(app: app.id, queriesByNumber: true)])
    }
    if purpose.opensStoreKey, purpose != .sandbox, place(of: Settings.storeKey) == nil {
      problems.add(section.place, Self.gmsSection, .needsStoreKey)
    }
    guard var members = open(section, path: Self.gmsSection) else { return nil }
    let node = members.node("services")
    close(&members, Self.gmsSection + ".")
    let path = Self.gmsSection + ".services"
    guard let node else {
      problems.add(
        section.place, Self.gmsSection,
        Refusal("has no services", "write services: { NAME: { app: APP } }, or remove the section"))
      return nil
    }
    guard let named = open(node, path: path) else { return nil }
    var services: [ExactText: Configuration.GMS.Service] = [:]
    for member in named.node.members {
      do throws(Refusal) {
        let name = try NameText.identifier("a service's name")(member.name)
        services[ExactText(name)] = service(member.value, path: "\(path).\(name)", apps)
      } catch {
        problems.add(member.place, path, error)
      }
    }
    return Configuration.GMS(services: services)
  }

  private mutating func service(
    _ node: DocumentNode, path: String, _ apps: [Configuration.App]
  ) -> Configuration.GMS.Service? {
    guard var members = open(node, path: path) else { return nil }
    var known = apps.map(\.id)
    // Invalid apps count as known, so that one mistake causes only one problem.
    if case .mapping(let members)? = partial.sections["apps"]?.content { known += members.map(\.name) }
    let form = TextForm { [known] text throws(Refusal) in
      guard known.contains(exactly: text) else {
        let meant = Spelling.nearest(to: text, among: known)
        throw Refusal(
          "there is no app \(quoted(text))",
          meant.map { "did you mean \($0)?" } ?? "list it under apps, or remove this service")
      }
      return text
    }
    let app = members.value(Settings.gmsApp.key(form))
    let queries = members.value(Settings.gmsQueries.key()) ?? false
    if queries {
      problems.note(
        members.node["query_by_number"]?.place ?? node.place,
        "\(members.name(of: "query_by_number")) lets everyone with the app's password read and cancel callbacks by a stranger's number"
      )
    }
    close(&members, "gms.services.*.")
    return app.map { Configuration.GMS.Service(app: $0, queriesByNumber: queries) }
  }
}
