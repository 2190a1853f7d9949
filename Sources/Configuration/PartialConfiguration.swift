// The settings from one source (file, environment or flags) before they are merged and checked.

package import Documents

/// The settings of one source, or of several merged ones, not yet checked. All sources have the same shape,
/// so merging takes the later source's value.
package struct PartialConfiguration: Sendable {
  /// A text and its position.
  package struct PlacedText: Sendable {
    let text: String
    let place: DocumentPlace
  }

  /// One source's value for a setting.
  package struct Entry: Sendable {
    package enum Content: Sendable {
      case text(String)
      case list([PlacedText])
      /// The value is the content of a file or a variable.
      case content(ContentSource)
    }

    package let content: Content
    package let place: DocumentPlace
    /// The position of the file's value, if this value overrides it.
    var overridden: DocumentPlace?

    package init(content: Content, place: DocumentPlace, overridden: DocumentPlace? = nil) {
      self.content = content
      self.place = place
      self.overridden = overridden
    }
  }

  /// The values of single settings.
  package var entries: [Setting: Entry] = [:]
  /// The sections with a shape of their own (`ownSections`), and sections without keys, by path.
  var sections: [String: DocumentNode] = [:]
  /// Variables that are set but empty, which count as unset.
  var emptyVariables: Set<String> = []

  /// The settings that misspelled keys of the file probably mean. They are not reported as missing as well.
  var meant: Set<String> = []

  /// The environment variables that keys of the YAML file name.
  var namedVariables: Set<String> = []

  package init() {}

  private init(
    entries: [Setting: Entry], sections: [String: DocumentNode], emptyVariables: Set<String>,
    meant: Set<String>
  ) {
    self.entries = entries
    self.sections = sections
    self.emptyVariables = emptyVariables
    self.meant = meant
  }

  /// The settings of both sources. Those of the later source override these.
  package func overridden(by later: PartialConfiguration) -> PartialConfiguration {
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
  /// The settings on the command line.
  package init(flags: ConfigurationFlags) {
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
