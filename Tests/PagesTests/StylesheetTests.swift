// Tests of the style sheet: contrast, size, and that Sources/Pages/README.md describes it.

import Foundation
import Testing

@testable import Pages

@Suite struct StylesheetTests {
  private static let guide: String = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return (try? String(contentsOf: root.appending(path: "Sources/Pages/README.md"), encoding: .utf8)) ?? ""
  }()

  private static let light = colours(in: PageFile.design.text.prefix { $0 != "@" })
  private static let dark: [String: String] = {
    let start = PageFile.design.text.range(of: "(prefers-color-scheme: dark)")?.upperBound
    let block = PageFile.design.text[(start ?? PageFile.design.text.endIndex)...].prefix { $0 != "@" }
    return light.merging(colours(in: block)) { _, dark in dark }
  }()

  private static func colours(in text: some StringProtocol) -> [String: String] {
    let pairs = String(text).matches(of: #/--([a-z-]+): (#[0-9a-f]{6})\b/#)
    return Dictionary(pairs.map { (String($0.1), String($0.2)) }) { first, _ in first }
  }

  /// WCAG 2.2, "relative luminance".
  private static func luminance(_ colour: String) throws -> Double {
    let value = try #require(Int(colour.dropFirst(), radix: 16))
    let channels = [value >> 16, value >> 8 & 0xff, value & 0xff].map { channel -> Double in
      let share = Double(channel) / 255
      return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
    }
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]
  }

  private static func contrast(_ one: String, _ other: String) throws -> Double {
    let values = try [luminance(one), luminance(other)].sorted()
    return (values[1] + 0.05) / (values[0] + 0.05)
  }

  @Test(arguments: [
    ("ink", ["paper", "card", "sunken", "tint", "good-tint", "warn-tint", "bad-tint"], 4.5),
    ("soft", ["paper", "card", "sunken"], 4.5),
    ("accent", ["paper", "card", "sunken", "tint", "good-tint", "warn-tint", "bad-tint"], 4.5),
    ("strong", ["paper", "card", "sunken", "tint", "good-tint", "warn-tint", "bad-tint"], 4.5),
    ("on-accent", ["accent", "strong"], 4.5),
    ("good", ["paper", "card", "good-tint"], 4.5),
    ("warn", ["paper", "card", "warn-tint"], 4.5),
    ("bad", ["paper", "card", "bad-tint"], 4.5),
    ("edge", ["paper", "card"], 3),
  ])
  func `text and controls stand out from their backgrounds`(
    front: String, grounds: [String], ratio: Double
  ) throws {
    for scheme in [Self.light, Self.dark] {
      for ground in grounds {
        let found = try Self.contrast(#require(scheme[front]), #require(scheme[ground]))
        #expect(found >= ratio, "\(front) on \(ground): \(found)")
      }
    }
  }

  @Test func `every colour has a light and a dark value, and the guide names both`() throws {
    #expect(Self.light.count == 17)
    for (name, value) in Self.light {
      let dark = try #require(Self.dark[name])
      #expect(dark != value, "\(name)")
      let row = Self.guide.split(separator: "\n").first {
        $0.hasPrefix("| `--") && $0.contains("`--\(name)`")
      }
      let cells = try #require(row, "\(name)").split(separator: "|")
      #expect(cells[1].contains("`\(value)`") && cells[2].contains("`\(dark)`"), "\(name)")
    }
  }

  @Test func `the guide describes every class`() {
    let classes = Set(PageFile.design.text.matches(of: #/\.([a-z]+)\b/#).map { String($0.1) })
    #expect(classes.count > 20)
    let described = Self.guide.matches(of: #/class="([a-z ]+)"|`\.?([a-z]+)`/#)
      .flatMap { ($0.1 ?? $0.2 ?? "").split(separator: " ").map(String.init) }
    #expect(classes.subtracting(described) == [])
  }

  @Test func `the style sheet is small, valid inside a page, and needs nothing from elsewhere`() {
    #expect(PageFile.design.text.utf8.count <= 8192)
    for forbidden in ["<", "url(", "@import", "//"] {
      #expect(!PageFile.design.text.contains(forbidden), "\(forbidden)")
    }
    #expect(PageFile.design.text.count { $0 == "{" } == PageFile.design.text.count { $0 == "}" })
    let used = Set(PageFile.design.text.matches(of: #/var\((--[a-z-]+)/#).map { String($0.1) })
    let defined = Set(PageFile.design.text.matches(of: #/(--[a-z-]+): /#).map { String($0.1) })
    #expect(used == defined)
  }
}
