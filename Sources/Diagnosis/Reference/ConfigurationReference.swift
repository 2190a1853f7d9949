// Generates the documents about settings: docs/operate/configuration.md with its table of variables, and the JSON Schemas.

import Configuration
import Documents
import Gate

/// The documents that follow from the declarations: docs/operate/configuration.md with its table of variables.
public enum ConfigurationReference {
  /// The table of environment variables, as Markdown; ends with a newline.
  public static var variables: String {
    let rows = Settings.scalars.compactMap { setting -> [String]? in
      guard let variable = setting.variable else { return nil }
      let secret = setting.fileVariable.map { " Or `\($0)`, the path of a file." } ?? ""
      return ["`\(variable)`", setting.meaning + secret, standard(setting)]
    }
    return table(["variable", "meaning", "default"], rows)
  }

  /// The section whose keys are those of `talkdesk.signer`.
  static let nextSigner = "talkdesk.next_key.signer"

  /// The table of YAML keys, as Markdown; ends with a newline. What the table of variables says is not said twice.
  public static var keys: String {
    var rows: [[String]] = []
    for setting in sorted {
      guard let path = setting.path else { continue }
      guard !path.hasPrefix(nextSigner + ".") else {
        let row = ["`\(nextSigner).*`", "The keys of `talkdesk.signer`, for the next key.", ""]
        if rows.last != row { rows.append(row) }
        continue
      }
      let other = setting.variablePath.map { " or `\($0)`" } ?? ""
      let meaning = setting.variable.map { ["as `\($0)`", ""] } ?? [setting.meaning, standard(setting)]
      rows.append(["`\(path)`\(other)"] + meaning)
    }
    return table(["key", "meaning", "default"], rows)
  }

  /// The whole of docs/operate/configuration.md.
  public static var document: String {
    """
    # Configuration

    <!-- Made from the declarations in Sources/Configuration by `callgate reference`; a test compares. -->

    Callgate takes each setting from the first of these sources that has it: a flag, an environment variable, the YAML
    file (`--config`, `CALLGATE_CONFIG` or `CALLGATE_CONFIG_TEXT`), the default. `callgate check` reads all of them
    offline. It prints every mistake at once, with its place and a fix.

    - An empty variable counts as unset. The server reports unknown variables that begin with `TD_` or `CALLGATE_`, and
      refuses unknown keys in the file.
    - Every secret variable `X` also exists as `X_FILE`, the path of a file with the secret. The server reports a file
      that other users can read. The group of a file of root may read it.
    - The YAML file itself never holds a secret, except a password inside `store.url`. Wherever a key ends in `_file`, the
      same key ending in `_variable` names an environment variable with the content:
      `client_secret_variable: SHOP_TALKDESK_SECRET`.
    - A byte order mark at the start of a file is dropped, and so is one line feed or CR LF at the end of a secret. If a
      secret ends with another blank, the server refuses a variable and prints a notice about a file. A password must not
      contain control characters.
    - Files are UTF-8. The server refuses one in UTF-16, which Windows PowerShell 5.1 writes: save it with
      `Set-Content -Encoding utf8`.
    - Paths are relative to the working directory. They contain no control characters, and no blanks before or behind them.
    - Durations have a unit: `500ms`, `10s`, `1m`, `1h`, `30d`. Sizes are bytes. Digests are SHA-256 in lower-case hex.
      Telephone numbers are E.164: `"+18500000000"`. Address blocks are CIDR: `10.0.0.0/8`. URLs are `https`; plain `http`
      is for a loopback address only.
    - Editors check the file while you write it: its first line names the [JSON Schema](schema/callgate.schema.json), which
      `callgate reference --schema callgate` prints. `--schema tests` prints the schema of the tests.
    - Every value in the YAML file is text, quoted or not, and its key decides its type. The server refuses empty values,
      duplicate keys, several documents, anchors, aliases and merge keys.

    ## Variables

    \(variables)
    ## Keys of the YAML file

    `[]` stands for each item of a list, `*` for a name that you choose. A key that names a variable has the meaning and default of [that variable](#variables).

    \(keys)
    `rules` is a list of [business rules](../build/rules.md).

    ## An example

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

    """
  }

  /// The JSON Schemas for editors; the name of each in `callgate reference --schema` is its raw value.
  public enum Schema: String, CaseIterable, Sendable {
    case callgate, tests

    /// The name of its file.
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

  private static func table(_ header: [String], _ rows: [[String]]) -> String {
    let lines = [header, header.map { _ in "---" }] + rows
    return lines.map { cells in
      "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |\n"
    }.joined()
  }
}
