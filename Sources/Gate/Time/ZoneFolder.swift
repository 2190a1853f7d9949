// Finds the file of a time zone, and explains what is wrong if there is none.

import Documents
import Platform

/// The time zone database of this machine: the package tzdata.
struct ZoneFolder: Sendable {
  /// The folder with the files of the database.
  let path: String

  /// The database of Debian's package.
  static let system = ZoneFolder(path: "/usr/share/zoneinfo")

  /// Whether a name can be a file of the database. The name must contain a slash, which excludes
  /// abbreviations such as `EST`. Each step of the path must begin with a letter, so that none leaves the
  /// folder. The folders `posix` and `right` are refused, because they contain other databases; times in
  /// `right` count leap seconds.
  static func isPlausible(_ name: String) -> Bool {
    let steps = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return steps.count > 1 && name.utf8.count <= 64
      && !["posix", "right"].contains { $0.utf8.elementsEqual(steps[0]) }
      && steps.allSatisfy { step in
        step.first?.isASCIILetter == true
          && step.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "_-+".utf8.contains($0) }
      }
  }

  /// The offsets of a zone.
  func table(of name: String, covering span: Range<Int64>) throws(Refusal) -> ZoneTable {
    guard Self.isPlausible(name) else { throw unknown(name) }
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try SystemFile.bytes(of: "\(path)/\(name)", limit: ZoneTable.maximumBytes)
    } catch {
      guard error.isMissingFile else {
        throw Refusal(
          at: Self.key, "the file of the time zone \(quoted(name)) cannot be read: \(error)",
          "let the server read \(path)")
      }
      throw unknown(name)
    }
    guard let table = ZoneTable(tzif: bytes, covering: span) else {
      throw Refusal(
        at: Self.key, "the file of the time zone \(quoted(name)) in \(path) is damaged",
        "install the package tzdata again")
    }
    return table
  }

  private static let key = "timezone"

  private func unknown(_ name: String) -> Refusal {
    let advice = "give a name of the IANA time zone database, such as \"Europe/Lisbon\" or \"UTC\""
    guard holds("Etc/UTC") else {
      return Refusal(
        at: Self.key, "this machine has no time zones in \(path)",
        "install the package tzdata, or use \"UTC\"")
    }
    let names = index()
    if let target = names[name] ?? nil {
      return Refusal(
        at: Self.key, "\(quoted(name)) is an old name of \"\(target)\", which this machine does not have",
        "use \"\(target)\", or install the package tzdata-legacy")
    }
    // A name with a digit means an offset. Never suggest a name such as Etc/GMT+5: it is five hours behind
    // UTC, the opposite of what people mean.
    let hasNumber: (String) -> Bool = { $0.utf8.contains(where: \.isASCIIDigit) }
    guard !hasNumber(name) else {
      return Refusal(at: Self.key, "there is no time zone \(quoted(name))", advice)
    }
    let known = names.keys.filter { !hasNumber($0) }.sorted()
    let folded = name.lowercased()
    let city = Self.city(folded)
    let near =
      known.first { $0.lowercased().utf8.elementsEqual(folded.utf8) }
      ?? known.first { !city.isEmpty && Self.city($0.lowercased()).elementsEqual(city) }
      ?? Spelling.nearest(to: name, among: known)
    return Refusal(
      at: Self.key, "there is no time zone \(quoted(name))",
      near.map { "did you mean \"\($0)\"? Otherwise \(advice)" } ?? advice)
  }

  /// The last step of a name, usually a city.
  private static func city(_ name: String) -> Substring.UTF8View {
    name.utf8.split(separator: UInt8(ascii: "/")).last ?? ""[...].utf8
  }

  private func holds(_ name: String) -> Bool {
    (try? SystemFile.bytes(of: "\(path)/\(name)", limit: 1)) != nil
  }

  /// The names in the database. The value of an old name is its current name; the value of any other name is
  /// nil.
  ///
  /// The names come from the database's file `tzdata.zi`: `Z NAME …` begins a zone, `L TARGET NAME` is an old
  /// name. Without this file there are no suggestions.
  private func index() -> [String: String?] {
    guard let bytes = try? SystemFile.bytes(of: "\(path)/tzdata.zi", limit: 1 << 20) else { return [:] }
    var names: [String: String?] = [:]
    for line in bytes.split(separator: 0x0A) {
      let words = line.split(separator: UInt8(ascii: " "), maxSplits: 3)
      let slash = UInt8(ascii: "/")
      if words.count > 2, words[0].elementsEqual("Z".utf8), words[1].contains(slash) {
        names[String(decoding: words[1], as: UTF8.self)] = .some(nil)
      } else if words.count == 3, words[0].elementsEqual("L".utf8), words[2].contains(slash) {
        names[String(decoding: words[2], as: UTF8.self)] = String(decoding: words[1], as: UTF8.self)
      }
    }
    return names
  }
}
