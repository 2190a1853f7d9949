// Finds phone numbers in text, in every common spelling, and masks them.

extension String {
  /// The text with its phone numbers masked: all digits of a number except the last two become `*`.
  ///
  /// A number has seven digits or more, or six after a `+`. Digits of every script count. Up to three
  /// separators may stand between two digits: spaces, tabs, hyphens, dots, parentheses, slashes, underscores,
  /// or non-ASCII characters that are not letters. These are not masked: dates (`2026-12-25`), UUIDs,
  /// hexadecimal words of 20 characters or more, and 18 or more digits in a row. No phone number is that long
  /// (ITU-T E.164: at most 15 digits, plus a prefix of international calls).
  public var hidingPhoneNumbers: String {
    // Nearly every text has fewer digits than a number.
    var digits = 0
    for octet in utf8 {
      if octet.isASCIIDigit || octet >= 0x80 { digits += 1 }
      if digits == 6 { return HiddenNumbers.hide(in: self) }
    }
    return self
  }
}

private enum HiddenNumbers {
  private static let longestGap = 3
  private static let shortest = 7
  private static let longestStretch = 17

  static func hide(in text: String) -> String {
    var scalars = Array(text.unicodeScalars)
    var digits: [Int] = []
    var gap = 0
    var index = 0
    func end() {
      if isNumber(digits, scalars) { for digit in digits.dropLast(2) { scalars[digit] = "*" } }
      digits.removeAll(keepingCapacity: true)
      gap = 0
    }
    while index < scalars.count {
      if let other = lengthOfOther(at: index, scalars) {
        end()
        index += other
        continue
      }
      let scalar = scalars[index]
      if isDigit(scalar) {
        digits.append(index)
        gap = 0
      } else if !digits.isEmpty, gap < longestGap, isSeparator(scalar) {
        gap += 1
      } else {
        end()
      }
      index += 1
    }
    end()
    var hidden = String.UnicodeScalarView()
    hidden.append(contentsOf: scalars)
    return String(hidden)
  }

  private static func isNumber(_ digits: [Int], _ scalars: [Unicode.Scalar]) -> Bool {
    guard let first = digits.first, let last = digits.last else { return false }
    if digits.count == shortest - 1 { return first > 0 && scalars[first - 1] == "+" }
    let isOneStretch = last - first == digits.count - 1
    return digits.count >= shortest && !(isOneStretch && digits.count > longestStretch)
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? ("0"..."9").contains(scalar) : scalar.properties.numericType == .decimal
  }

  private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? " -.()/_\t".unicodeScalars.contains(scalar) : !scalar.properties.isAlphabetic
  }

  /// The length of a date, UUID or other identifier that begins at an index and is not masked; nil if none
  /// begins there.
  private static func lengthOfOther(at index: Int, _ scalars: [Unicode.Scalar]) -> Int? {
    guard isWordCharacter(scalars[index]), index == 0 || !isWordCharacter(scalars[index - 1]) else {
      return nil
    }
    if has("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", at: index, scalars) { return 36 }
    if has("0000-00-00", at: index, scalars),
      isDate(scalars[index..<(index + 10)].map { Int($0.value) - 0x30 })
    {
      return 10
    }
    let word = scalars[index...].prefix(while: isWordCharacter)
    let isIdentifier = word.count >= 20 && word.allSatisfy { isHexadecimal($0) } && !word.allSatisfy(isDigit)
    return isIdentifier ? word.count : nil
  }

  /// Whether the text at an index has a form: `x` stands for a hexadecimal digit, `0` for a decimal digit. No
  /// digit may follow, but a letter may, such as the T between a date and its time.
  private static func has(_ form: StaticString, at index: Int, _ scalars: [Unicode.Scalar]) -> Bool {
    let end = index + form.utf8CodeUnitCount
    guard end <= scalars.count, end == scalars.count || !isDigit(scalars[end]) else { return false }
    return zip(form.description.unicodeScalars, scalars[index..<end]).allSatisfy { wanted, scalar in
      switch wanted {
      case "x": isHexadecimal(scalar)
      case "0": ("0"..."9").contains(scalar)
      default: scalar == wanted
      }
    }
  }

  /// - Parameter digits: The values of the ten characters of a text such as `2026-12-25`. The values of its
  ///   hyphens are ignored.
  private static func isDate(_ digits: [Int]) -> Bool {
    let century = digits[0] * 10 + digits[1]
    let month = digits[5] * 10 + digits[6]
    let day = digits[8] * 10 + digits[9]
    return (19...20).contains(century) && (1...12).contains(month) && (1...31).contains(day)
  }

  private static func isHexadecimal(_ scalar: Unicode.Scalar) -> Bool {
    ("0"..."9").contains(scalar) || ("a"..."f").contains(scalar) || ("A"..."F").contains(scalar)
  }

  private static func isWordCharacter(_ scalar: Unicode.Scalar) -> Bool {
    ("0"..."9").contains(scalar) || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
  }
}
