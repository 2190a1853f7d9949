// Generates the documents about settings: docs/operate/configuration.md, its table of variables, and the JSON
// Schemas.

import Configuration
import Documents
import Gate

/// The documents that are generated from the declarations of settings.
public enum ConfigurationReference {
  /// The table of environment variables, as Markdown; ends with a newline.
  public static var variables: String {
    let rows = Settings.scalars.compactMap { setting -> [String]? in
      guard let variable = setting.variable else { return nil }
      let secret = setting.fileVariable.map { " Or `\($0)`, the path of a file." } ?? ""
      return ["`\(variable)`", setting.meaning + secret, standard(setting)]
    }
    return
      (["| variable | meaning | default |", "|---|---|---|"]
      + rows.map { cells in
        "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
      }).joined(separator: "\n") + "\n"
  }

  /// The section whose keys are those of `talkdesk.signer`.
  static let nextSigner = "talkdesk.next_key.signer"

  /// The settings by section, each with a heading and a list, as Markdown; ends with a newline.
  static var sections: String {
    var sections: [(name: String, items: [String])] = []
    for setting in sorted where !setting.isForTests && setting.path?.hasPrefix(nextSigner + ".") != true {
      let name = section(of: setting) ?? "Variables without a key"
      if sections.last?.name != name { sections.append((name, [])) }
      let standard = standard(setting)
      sections[sections.count - 1].items.append(
        "- \(names(of: setting))\(standard.isEmpty ? "" : " (\(standard))"): \(setting.meaning)\n")
    }
    return sections.map { "### \($0.name)\n\n\($0.items.joined())" }.joined(separator: "\n")
  }

  /// The key and the variable of a setting.
  private static func names(of setting: Setting) -> String {
    [setting.path, setting.variable].compactMap { $0.map { "`\($0)`" } }.joined(separator: ", ")
  }

  /// The whole of docs/operate/configuration.md.
  public static var document: String {
    """
    # Configuration

    <!-- Made from the declarations in Sources/Configuration by `callgate reference`; a test compares. -->

    For operators: every setting and its default. Start from the file that `callgate init` writes, or from this one:

    ```yaml
    listen:
      port: 8080
      trusted_proxies: [10.0.0.0/8]
      forwarded_hops: 1
    talkdesk:
      account: acme
      region: us
      client_id: 6f3c5a0e8b1d4c7e
      client_secret_file: /run/secrets/talkdesk-credential     # or key_id and private_key_file
    callers:
      - id: ios-app
        basic: { username: app-user, password_file: /run/secrets/ios-app-password }
    apps:
      example-app-ios:
        callers: [ios-app]
        scope: "visual-sessions:execute"
        talkdesk_phone_numbers: ["+18500000000"]
    callbacks: { dedupe_window: 60s }
    ```

    `callgate check callgate.yaml` reads everything offline, and prints each mistake with its place and a fix.

    ## Where settings come from

    The first source that has a setting wins: a flag, an environment variable, the YAML file (`--config`, `CALLGATE_CONFIG` or
    `CALLGATE_CONFIG_TEXT`), the default.

    - **Secrets** never go into the YAML file, except a password inside `store.url`. A key that ends in `_file` names a file.
      The same key with `_variable` names an environment variable. Every secret variable `X` also exists as `X_FILE`. The server
      warns if other users can read the file.
    - **Unknown names.** The server refuses unknown keys, and warns about unknown variables that begin with `TD_` or
      `CALLGATE_`. An empty variable counts as unset.
    - **YAML.** Every value is text, quoted or not. The server refuses empty values, duplicate keys, several documents,
      anchors, aliases and merge keys.
    - **Formats.** Durations: `500ms`, `10s`, `1m`, `1h`, `30d`. Sizes: bytes. Digests: SHA-256 in lower-case hex. Phone
      numbers: E.164, quoted (`"+18500000000"`). Address blocks: CIDR (`10.0.0.0/8`). URLs: `https`, or `http` for loopback.
    - **Paths** are relative to the working directory, without control characters or surrounding blanks.
    - **Files** are UTF-8. Windows PowerShell 5.1 writes UTF-16, which the server refuses: save with
      `Set-Content -Encoding utf8`. The server drops a byte order mark, and one line ending after a secret. Passwords cannot
      contain control characters.
    - **Editors** check the file against the [JSON Schema](../schema/callgate.schema.json) in its first line.
      `callgate reference --schema callgate` prints it, `--schema tests` that of `tests.yaml`.

    ## Settings

    Defaults are in parentheses. `[]` stands for each item of a list, `*` for a name that you choose. [Rules](../build/rules.md) explains `rules`. `\(nextSigner)` has the keys of `talkdesk.signer`.

    \(sections)
    """
  }

  /// The JSON Schemas for editors; the name of each in `callgate reference --schema` is its raw value.
  public enum Schema: String, CaseIterable, Sendable {
    case callgate, tests

    /// The name of the schema's file.
    public var fileName: String { "\(rawValue).schema.json" }

    /// The schema; ends with a newline.
    public var document: String {
      switch self {
      case .callgate: Settings.shape.schema(title: "callgate.yaml")
      case .tests: RuleTest.fileShape.schema(title: "Tests of rules")
      }
    }

    /// The first line of a YAML file in the same folder, which names the schema for editors.
    var modeline: String { "# yaml-language-server: $schema=\(fileName)" }
  }

  /// The keys, grouped by section in the order of the sections' first declaration.
  private static var sorted: [Setting] {
    var sections: [String: Int] = [:]
    for setting in Settings.all {
      guard let section = section(of: setting), sections[section] == nil else { continue }
      sections[section] = sections.count
    }
    return Settings.all.enumerated().sorted { a, b in
      let (left, right) = (rank(a.element, sections), rank(b.element, sections))
      return left == right ? a.offset < b.offset : left < right
    }.map(\.element)
  }

  private static func rank(_ setting: Setting, _ sections: [String: Int]) -> Int {
    section(of: setting).flatMap { sections[$0] } ?? -1
  }

  private static func section(of setting: Setting) -> String? {
    setting.path.map { path in String(path.prefix { $0 != "." && $0 != "[" }) }
  }

  private static func standard(_ setting: Setting) -> String {
    setting.standardNote ?? setting.standard.map { "`\($0)`" } ?? ""
  }
}
