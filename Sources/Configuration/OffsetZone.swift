// Explains time zones such as `Etc/GMT+5`, whose names have the opposite sign of their offset.

import Documents

/// A zone of the form `Etc/GMT+5`. POSIX counts hours west of Greenwich as positive, so this zone is five
/// hours behind UTC.
struct OffsetZone {
  private let hours: Int
  private let isBehind: Bool

  /// Reads a zone's name; nil for any other zone.
  init?(_ name: String) {
    let prefix = "Etc/GMT"
    let sign = name.dropFirst(prefix.count).prefix(1)
    guard name.hasPrefix(prefix), sign == "+" || sign == "-",
      let hours = Digits.read(name.dropFirst(prefix.count + 1), in: 1...14)
    else { return nil }
    self.hours = hours
    isBehind = sign == "+"
  }

  /// The offset in words: `five hours behind UTC`.
  var words: String {
    let numbers = [
      "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
      "thirteen", "fourteen",
    ]
    return "\(numbers[hours - 1]) \(hours == 1 ? "hour" : "hours") \(isBehind ? "behind" : "ahead of") UTC"
  }
}

extension ConfigurationBuilder {
  /// Notes the offset of each `timezone` of this form in a document, because most people read its name with
  /// the opposite sign.
  mutating func noteOffsets(in node: DocumentNode) {
    switch node.content {
    case .text: break
    case .list(let items): for item in items { noteOffsets(in: item) }
    case .mapping(let members):
      for member in members {
        if member.name == "timezone", let name = member.value.text, let zone = OffsetZone(name) {
          problems.note(member.value.place, "\(name) is \(zone.words), all year")
        }
        noteOffsets(in: member.value)
      }
    }
  }
}
