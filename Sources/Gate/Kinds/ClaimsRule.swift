// What the caller's token has to claim.

/// Claims that have to be there, each with the values that are accepted.
///
/// A string, number or boolean is compared by its text; of an array any element may fit. A name with dots is
/// first a claim's whole name (`https://shop.example/tier`), then a path into objects (`realm_access.roles`).
public struct ClaimsRule: Sendable {
  private struct Requirement: Sendable {
    let name: String
    let path: [String]
    let accepted: [String]
  }

  private let requirements: [Requirement]

  /// A rule from claims and their accepted values. Throws when there are none.
  public init(require: [(claim: String, accepted: [String])]) throws(RuleError) {
    guard !require.isEmpty else {
      throw RuleError(
        key: "require", problem: "the rule requires no claim",
        remedy: "name a claim and its accepted values, as in { tier: [gold] }")
    }
    for (claim, accepted) in require {
      guard !claim.isEmpty, !accepted.isEmpty else {
        throw RuleError(
          key: "require.\(claim)", problem: "no value is accepted, so the rule would deny everyone",
          remedy: "list the accepted values, as in { tier: [gold] }")
      }
    }
    requirements = require.map {
      let path = $0.claim.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      return Requirement(name: $0.claim, path: path.count > 1 ? path : [], accepted: $0.accepted)
    }
  }

  /// Whether all required claims are there with an accepted value.
  func allows(_ claims: [FactMember]) -> Bool {
    for place in requirements.indices where !fulfils(claims, place) { return false }
    return true
  }

  /// Whether the requirement at a place is fulfilled. Claims and requirements are looked at where they are.
  private func fulfils(_ claims: [FactMember], _ index: Int) -> Bool {
    for place in claims.indices where claims[place].name == requirements[index].name {
      return Self.fits(claims[place].value, requirements[index].accepted)
    }
    let path = requirements[index].path
    guard let first = path.first, var value = claims.first(where: { $0.name == first })?.value
    else { return false }
    for name in path.dropFirst() {
      guard let member = value[name] else { return false }
      value = member
    }
    return Self.fits(value, requirements[index].accepted)
  }

  private static func fits(_ value: FactValue, _ accepted: [String]) -> Bool {
    switch value {
    case .string(let text), .number(let text):
      for candidate in accepted where candidate == text { return true }
      return false
    case .bool(let flag): return accepted.contains(flag ? "true" : "false")
    case .array(let elements):
      for element in elements {
        // Only values in the list itself: a list in a list says something else.
        if case .array = element { continue }
        if fits(element, accepted) { return true }
      }
      return false
    case .null, .object: return false
    }
  }
}
