// Reads `desks`, the chat desks whose users get session tokens, from the configuration.

import Callers
public import ChatDesk
import Documents
import Installations
public import JOSE
import Texts

extension Configuration {
  /// A chat desk: a Sendbird application.
  public struct Desk: Sendable {
    /// The kinds of chat desks.
    package enum Kind: String, CaseIterable, Sendable { case sendbird }

    /// The desk's name, as in `apps.*.desk`.
    public let id: String
    /// The id of the Sendbird application.
    public let applicationID: String
    /// The base URL of Sendbird's platform API. The sandbox sets its emulator here.
    public var url: String
    /// The master token. Nil only if the purpose needs no credential. The sandbox sets its own here.
    public var apiToken: Secret?
    /// The base URL of Sendbird Desk's API. The sandbox sets its emulator here.
    public var deskURL: String
    /// The desk's token for tickets. Nil without tickets, or if the purpose needs no credential. The sandbox
    /// sets its own here.
    public var deskToken: Secret?
    /// Whether users may open tickets.
    public let takesTickets: Bool
    /// The lifetime of session tokens.
    public let tokenLife: Duration
    /// The form of user ids.
    public let userIDs: UserIDForm
  }
}

extension ConfigurationBuilder {
  static let desksSection = "desks"

  /// The sandbox's chat desk, so that chat can be tried. `sampleChatApp` uses it.
  static let sampleDesk = Configuration.Desk(
    id: "chat", applicationID: "SANDBOX", url: "", apiToken: nil, deskURL: "", deskToken: nil,
    takesTickets: true, tokenLife: .seconds(3600), userIDs: .callerAndSubject)
  static let sampleChatApp = "example-chat"

  /// Whether the sandbox adds its own chat desk: if the file has neither apps nor desks.
  var showsSampleDesk: Bool {
    purpose == .sandbox && partial.sections["apps"] == nil && partial.sections[Self.desksSection] == nil
  }

  /// Reads `desks`.
  mutating func desks() -> [Configuration.Desk] {
    guard let section = partial.sections[Self.desksSection] else {
      return showsSampleDesk ? [Self.sampleDesk] : []
    }
    guard let members = open(section, path: Self.desksSection) else { return [] }
    return members.node.members.compactMap { member -> Configuration.Desk? in
      do throws(Refusal) {
        let read: (String) throws(Refusal) -> String = NameText.identifier("a desk's name")
        return desk(try read(member.name), member.value)
      } catch {
        problems.add(member.place, Self.desksSection, error)
        return nil
      }
    }
  }

  private mutating func desk(_ id: String, _ node: DocumentNode) -> Configuration.Desk? {
    guard var members = open(node, path: "\(Self.desksSection).\(id)") else { return nil }
    let kind = members.value(Settings.deskKind.key())
    let applicationID = members.value(Settings.deskApplication.key())
    let life = members.value(Settings.deskTokenLife.key())
    let form = members.value(Settings.deskUserID.key())
    let url = members.value(Settings.deskURL.key())
    let deskURL = members.value(Settings.deskAPIURL.key())
    let token = source(Settings.deskToken, in: &members).flatMap { apiToken($0) }
    let deskSource = source(Settings.deskAPIToken, in: &members)
    let deskToken = deskSource.flatMap { apiToken($0) }
    if deskURL != nil, deskSource == nil, !members.has("desk_api_token_file"),
      !members.has("desk_api_token_variable")
    {
      problems.note(
        members.node["desk_url"]?.place ?? node.place,
        "\(members.name(of: "desk_url")) is for tickets, which need desk_api_token_file")
    }
    let one = closeWithOne(&members, "desks.*.", none: "API token", several: "API tokens")
    guard kind != nil, let applicationID, one != nil, token != nil || !purpose.needsCredential else {
      return nil
    }
    return Configuration.Desk(
      id: id, applicationID: applicationID, url: url ?? "https://api-\(applicationID).sendbird.com",
      apiToken: token, deskURL: deskURL ?? "https://desk-api-\(applicationID).sendbird.com",
      deskToken: deskToken, takesTickets: deskSource != nil, tokenLife: life ?? .seconds(3600),
      userIDs: form ?? .subjectAlone)
  }

  /// Reads an API token of Sendbird. Nil if it is invalid, or if the purpose needs no credential.
  private mutating func apiToken(_ placed: PlacedSource) -> Secret? {
    guard purpose.needsCredential else { return nil }
    guard let bytes = secretBytes(placed.source, at: placed.place, name: placed.name) else { return nil }
    guard bytes.count <= 512, bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      problems.add(
        placed.place, placed.name,
        Refusal("does not contain a Sendbird API token", "copy it again, without spaces and line breaks"))
      return nil
    }
    return Secret(bytes)
  }

  /// Checks `apps.*.desk`: an app with a desk needs users, and two users must never get the same user id.
  /// Notes desks that no app uses.
  mutating func judgeDesks(
    _ apps: [Configuration.App], callers: [ConfiguredCaller], desks: [Configuration.Desk]
  ) {
    guard let section = partial.sections[Self.desksSection], case .mapping(let members) = section.content
    else {
      return
    }
    for member in members where !apps.contains(where: { $0.desk == member.name }) {
      problems.note(member.place, "no app uses the desk \(member.name) — give an app desk: \(member.name)")
    }
    // An invalid caller may be one with users.
    let isWhole = callerIDs(callers).count == callers.count
    var known: [(desk: Configuration.Desk, caller: String)] = []
    for desk in desks {
      guard let place = members.first(where: { $0.name == desk.id })?.place else { continue }
      var clash: (String, String)?
      for app in apps where app.desk == desk.id {
        let users = app.callersWithSubjects(callers)
        if users.isEmpty, isWhole {
          problems.add(
            partial.sections["apps"]?[app.id]?["desk"]?.place ?? place, "apps.\(app.id).desk",
            Refusal(
              "needs users, and no caller of this app has any",
              "list a caller with jwt, give the app installations, or remove this line"))
        }
        for caller in users {
          // Two desks of one application have the same users.
          let other = known.first { other, theirs in
            other.url == desk.url && (theirs != caller || other.userIDs != desk.userIDs)
              && !desk.userIDs.separates(caller, from: theirs, in: other.userIDs)
          }
          if let other { clash = clash ?? (other.caller, caller) }
          known.append((desk, caller))
        }
      }
      if let (one, other) = clash {
        problems.add(
          place, "\(Self.desksSection).\(desk.id)",
          one == other
            ? Refusal(
              "two users of \(one) could get the same user id",
              "give all desks of this application the same user_id")
            : Refusal(
              "users of \(one) and of \(other) could get the same user id",
              "put {caller} into user_id, as in user_id: \"{caller}:{subject}\""))
      }
    }
  }
}

extension Configuration.App {
  /// The callers of the app that have users. An installation that a user authorizes belongs to that user. One
  /// that an operator or an attestation authorizes is a user itself.
  fileprivate func callersWithSubjects(_ known: [ConfiguredCaller]) -> [String] {
    var ids = known.filter { caller in
      if case .jwt = caller.proof { callers?.contains(exactly: caller.id) ?? true } else { false }
    }.map(\.id)
    if installations?.makesUsers == true { ids.append(Caller.installationID) }
    return ids
  }
}

extension SendbirdSettings {
  /// The settings of a configured desk, which must have its token.
  package init(_ desk: Configuration.Desk, _ tokens: Configuration.Tokens) {
    guard let apiToken = desk.apiToken else {
      preconditionFailure("a configuration that asks Sendbird has its token")
    }
    self.init(
      url: desk.url, apiToken: apiToken, tokenLife: desk.tokenLife, deadline: tokens.deadline,
      desk: desk.deskToken.map { Desk(url: desk.deskURL, apiToken: $0) })
  }
}
