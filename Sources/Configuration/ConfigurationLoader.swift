// Loads a configuration from defaults, the YAML file, the environment and flags. A later source overrides an
// earlier one.

import Documents
import Platform
package import Upstream

/// Loads the configuration: defaults, then the YAML file, then the environment, then flags. Each source
/// overrides the ones before it. It reads files only through its sources, and uses no network.
public enum ConfigurationLoader {
  /// Reads, merges and validates everything.
  ///
  /// - Throws: All problems together. If the YAML file cannot be read, missing settings are not among them.
  public static func load(
    _ sources: ConfigurationSources, for purpose: ConfigurationPurpose
  ) throws(ConfigurationErrors) -> LoadedConfiguration {
    let (merged, isUnread) = merge(sources, for: purpose)
    var builder = merged
    do throws(ConfigurationErrors) {
      return try builder.build()
    } catch {
      guard isUnread else { throw error }
      // A setting that seems to be missing may be in the file that could not be read.
      throw ConfigurationErrors(
        problems: error.problems.filter { !$0.place.isMissing }, notices: error.notices, files: error.files)
    }
  }

  /// Reads the store's setting alone, even if other settings have problems. Nil if the setting itself has a
  /// problem, or if the YAML file cannot be read.
  public static func store(
    _ sources: ConfigurationSources, for purpose: ConfigurationPurpose
  ) -> Configuration.Store? {
    let (merged, isUnread) = merge(sources, for: purpose)
    var builder = merged
    let known = builder.problems.problems.count
    let store = builder.store()
    return isUnread || builder.problems.problems.count > known ? nil : store
  }

  /// Reads and merges all sources.
  private static func merge(
    _ sources: ConfigurationSources, for purpose: ConfigurationPurpose
  ) -> (builder: ConfigurationBuilder, isUnread: Bool) {
    var problems = ProblemList()
    let environment = PartialConfiguration(environment: sources.environment, into: &problems)
    let flags = PartialConfiguration(flags: sources.flags)
    let said = environment.overridden(by: flags)

    var finder = ConfigurationBuilder(partial: said, purpose: purpose, sources: sources, problems: problems)
    let file = finder.file()
    let isUnread = file == nil && finder.problems.problems.count > problems.problems.count
    PartialConfiguration.noteUnknown(
      sources.environment, but: file?.namedVariables ?? [], into: &finder.problems)
    PartialConfiguration.noteQuotationMarks(
      sources.environment, and: file?.namedVariables ?? [], into: &finder.problems)
    let merged = (file ?? PartialConfiguration()).overridden(by: said)
    var builder = ConfigurationBuilder(
      partial: merged, purpose: purpose, sources: sources, problems: finder.problems, files: finder.files)
    builder.emptyFile = finder.emptyFile
    return (builder, isUnread)
  }
}

extension ConfigurationBuilder {
  /// Reads the YAML file, or the YAML text in `CALLGATE_CONFIG_TEXT`. Nil if neither is set, if it is empty,
  /// or if it cannot be read.
  package mutating func file() -> PartialConfiguration? {
    let path = partial.entries[Settings.config.setting]
    let text = partial.entries[Settings.configText.setting]
    let bytes: [UInt8]
    let name: String
    switch (path?.content, text?.content) {
    case (.text(let path)?, let text):
      guard let place = self.place(of: Settings.config) else { return nil }
      if text != nil, place.isFlag {
        problems.note(.variable("CALLGATE_CONFIG_TEXT"), "not used, because --config is given")
      } else if text != nil {
        problems.add(place, nil, Refusal("is set, and so is CALLGATE_CONFIG_TEXT", "keep one of the two"))
      }
      guard
        let content = file(
          path, at: place, name: Settings.config.setting.name, limit: YAMLReader.maximumBytes)
      else { return nil }
      (bytes, name) = (content.bytes, path)
    case (_, .text(let yaml)?):
      (bytes, name) = (Array(yaml.utf8), "CALLGATE_CONFIG_TEXT")
    default:
      return nil
    }
    let known = problems.problems.count
    guard let root = YAMLReader.read(bytes, name: name, into: &problems) else {
      if problems.problems.count == known {
        let place = DocumentPlace.file(name, line: 1, column: 1)
        emptyFile = place
        problems.note(place, "the file is empty: only variables, flags and defaults apply")
      }
      return nil
    }
    var file = PartialConfiguration(file: root, into: &problems)
    file.namedVariables = PartialConfiguration.variables(namedIn: root)
    noteOffsets(in: root)
    return file
  }

  /// Builds the configuration, or throws every problem.
  mutating func build() throws(ConfigurationErrors) -> LoadedConfiguration {
    judgePlatform()
    judgeProxy()
    let listen = listen()
    let externalURLs = list(Settings.externalURLs)
    let admin = admin(beside: listen, at: externalURLs.first)
    let before = problems.problems.count
    let callers = callers()
    judgeOperators(admin.jwt, beside: callers)
    let allowAnonymous = allowAnonymous(beside: callers)
    let apps = apps(callers: callers, allowAnonymous: allowAnonymous)
    let attestation = attestation(apps)
    let desks = desks()
    judgeDesks(apps, callers: callers, desks: desks)
    let isWhole = problems.problems.count == before
    let numbers = numbers()
    let policy = policy(callers: callers, apps: apps, desks: isWhole ? desks : nil, numbers)
    judgeInstallations(apps)
    noteAuthorizers(apps, callers)
    let notices = notices(externalURLs.first)
    judgeDelivery(apps, notices)
    let store = store()
    noteLostState(store)
    let log = log()
    let configuration = Configuration(
      purpose: purpose, listen: listen, externalURLs: externalURLs, admin: admin, log: log, audit: audit(log),
      talkdesk: talkdesk(for: apps),
      authorities: authorities(),
      tokens: tokens(),
      callers: callers, allowAnonymous: allowAnonymous, apps: apps,
      enrolmentApp: partial.sections["apps"] == nil ? Self.sampleID : nil, policy: policy,
      callbacks: callbacks(),
      appointments: appointments(keptIn: store, notices), appCheck: attestation.appCheck,
      appAttest: attestation.appAttest, play: attestation.play, numbers: numbers,
      gms: gms(apps),
      mcp: mcp(
        callers, allowAnonymous: allowAnonymous, apps, policy, texts: numbers?.consentNames ?? [],
        externalURLs.first),
      notices: notices,
      outcomes: outcomes(externalURLs.first), live: live(),
      desks: desks,
      allowedOrigins: allowedOrigins(), store: store,
      storeKeys: storeKeys(), limits: limits(),
      origins: origins(), emptyFile: emptyFile, files: files)
    judgeAuditFile(configuration.audit, store)
    guard problems.isEmpty else {
      throw ConfigurationErrors(
        problems: problems.sorted, notices: problems.notices, files: files)
    }
    return LoadedConfiguration(configuration: configuration, notices: problems.notices)
  }

  /// Refuses the sandbox on Heroku, which sets `DYNO`: the Internet could send it requests without
  /// credentials.
  private mutating func judgePlatform() {
    if purpose == .sandbox, sources.environment["DYNO"] != nil {
      problems.add(
        .variable("DYNO"), nil,
        Refusal(
          "says this is Heroku, and --sandbox serves requests without credentials",
          "set Talkdesk's credential and leave --sandbox out"))
    }
  }

  /// Checks the proxy for upstream requests, which the environment names, as for curl. A malformed one would
  /// otherwise only fail at the first token.
  private mutating func judgeProxy() {
    guard purpose.needsCredential else { return }
    do throws(ProxySettings.Malformed) {
      _ = try ProxySettings(environment: sources.environment)
    } catch {
      problems.add(
        .variable(error.variable), nil,
        Refusal("is \(error.problem)", "correct it, or unset it to go without a proxy"))
    }
  }

  /// Reads `outbound.ca_file` or a similar setting. Reads the file now, because every outbound request would
  /// fail without it.
  package mutating func authorities(_ setting: TypedSetting<String> = Settings.caFile) -> Authorities? {
    guard let (source, place) = source(setting) else { return nil }
    guard
      let bytes = certificates(
        in: source, at: place, name: setting.setting.name, limit: ConfigurationFiles.maximumAuthorityBytes)
    else { return nil }
    guard bytes.firstRange(of: Array("-----BEGIN CERTIFICATE-----".utf8)) != nil else {
      problems.add(
        place, setting.setting.name,
        Refusal(
          "names a \(source.noun) without a certificate", "give the authorities' certificates as PEM"))
      return nil
    }
    return switch source {
    case .file(let path): sources.files.authorities(in: path)
    case .variable: .pem(bytes)
    }
  }

  /// Notes state that the next start may lose: on a dyno's disk, in a container's own layer, in a volume
  /// without a name, or in a file system in memory. `check` often runs on another machine, so it only notes a
  /// folder that does not exist, and a dyno's disk.
  private mutating func noteLostState(_ store: Configuration.Store) {
    if sources.environment["DYNO"] != nil {
      guard purpose == .serve || purpose == .check else { return }
      if case .postgres = store { return }
      problems.note(
        .variable("DATABASE_URL"),
        "not set, and every restart wipes this dyno's disk, with used quotas, callbacks and idempotency keys; "
          + "heroku addons:create heroku-postgresql keeps them")
    } else if purpose == .serve || purpose == .check, case .sqlite(let path) = store {
      let life = sources.diskLife(path)
      let statedAt = place(of: Settings.state) ?? place(of: Settings.storeURL) ?? .variable("CALLGATE_STATE")
      guard purpose == .serve else {
        guard life == .missing else { return }
        problems.note(
          statedAt,
          "the folder of \(quoted(path: path)) does not exist: create it, writable for the server's user, on the machine that runs serve"
        )
        return
      }
      let (place, remedy): (String?, String) =
        switch life {
        // The store itself reports that it cannot be opened.
        case .lasting, .missing: (nil, "")
        case .containerLayer: ("in this container's own layer", "mount a volume there")
        case .unnamedVolume: ("in a volume without a name, which the next container does not get", "name it")
        case .memory: ("in a file system in memory", "mount a volume there")
        }
      guard let place else { return }
      problems.note(
        statedAt,
        "\(quoted(path: path)) lies \(place), so the next start may lose used quotas, callbacks and idempotency keys; "
          + "\(remedy) (docker run --volume callgate:/data), or set DATABASE_URL")
    }
  }

  /// Every setting that is set, with its value as it may be shown.
  private func origins() -> [SettingOrigin] {
    var origins = Settings.scalars.compactMap { setting -> SettingOrigin? in
      guard let entry = partial.entries[setting] else { return nil }
      return SettingOrigin(
        name: setting.name, value: Self.shown(entry, of: setting), place: entry.place,
        overridden: entry.overridden)
    }
    for name in PartialConfiguration.ownSections {
      guard let node = partial.sections[name] else { continue }
      let value =
        switch node.content {
        case .list(let items): "\(items.count) listed"
        case .mapping(let members): "\(members.count) set"
        case .text(let text, _): quoted(text)
        }
      origins.append(SettingOrigin(name: name, value: value, place: node.place))
    }
    return origins
  }

  private static func shown(_ entry: PartialConfiguration.Entry, of setting: Setting) -> String {
    func one(_ text: String) -> String {
      // The store's URL may contain a password. `memory` and the path of an SQLite file have none to hide.
      let isOpen = setting == Settings.storeURL.setting && (text == "memory" || text.hasPrefix("sqlite:"))
      if setting.isRedacted, !isOpen { return "<redacted>" }
      guard setting.holdsPhoneNumber else { return quoted(text) }
      return text.prefix(1) + String(repeating: "*", count: max(0, text.count - 3)) + text.suffix(2)
    }
    switch entry.content {
    case .text(let text): return one(text)
    case .list(let items): return "[" + items.map { one($0.text) }.joined(separator: ", ") + "]"
    case .content(let source):
      switch setting.form {
      case .secret: return "<redacted> from \(source.shown)"
      case .file: return source.shown
      case .text, .list: return "<redacted>"
      }
    }
  }
}
