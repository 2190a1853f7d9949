// The settings from one source (file, environment or flags) before they are merged and checked.

/// What one source says, unjudged: the same shape for the file, the environment and the flags, so that merging is
/// taking the later one's word.
struct PartialConfiguration: Sendable {
  /// A text and where it stands.
  struct PlacedText: Sendable {
    let text: String
    let place: ConfigurationPlace
  }

  /// What a source says about one setting.
  struct Entry: Sendable {
    enum Content: Sendable {
      case text(String)
      case list([PlacedText])
      /// The value is what the file at this path holds.
      case content(ofFile: String)
    }

    let content: Content
    let place: ConfigurationPlace
    /// Where the file says something else, which is not used.
    var overridden: ConfigurationPlace?
  }

  /// What is said about settings with a value of their own.
  var entries: [Setting: Entry] = [:]
  /// The sections with a shape of their own: `callers`, `apps`, `rules`, `callbacks.brakes`.
  var sections: [String: ConfigurationNode] = [:]
  /// Variables that are set but empty, which count as unset.
  var emptyVariables: Set<String> = []

  /// The settings that misspelt keys of the file mean: they are not missing as well.
  var meant: Set<String> = []

  /// Takes over everything a later source says.
  func overridden(by later: PartialConfiguration) -> PartialConfiguration {
    let entries = entries.merging(later.entries) { earlier, later in
      guard earlier.place.isFile else { return later }
      var entry = later
      entry.overridden = earlier.place
      return entry
    }
    return PartialConfiguration(
      entries: entries, sections: sections.merging(later.sections) { $1 },
      emptyVariables: emptyVariables.union(later.emptyVariables), meant: meant.union(later.meant))
  }
}

extension PartialConfiguration {
  /// What the command line says.
  init(flags: ConfigurationFlags) {
    for (setting, text) in [
      (Settings.config.setting, flags.config), (Settings.host.setting, flags.host),
      (Settings.port.setting, flags.port), (Settings.logLevel.setting, flags.logLevel),
      (Settings.logFormat.setting, flags.logFormat),
    ] {
      guard let text, let flag = setting.flag else { continue }
      entries[setting] = Entry(content: .text(text), place: .flag(flag))
    }
  }
}
