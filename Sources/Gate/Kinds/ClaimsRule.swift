// The rule that requires certain claims in the caller's token.

public import Documents
import Texts

/// Required claims, each with its accepted values.
///
/// A string, number or boolean is compared by its text. An array is accepted if any of its elements is. A
/// name with dots is first looked up as a claim's whole name (`https://shop.example/tier`), then as a path
/// into objects (`realm_access.roles`). A string in `scope` or `scp` is a list of scopes with spaces between
/// them (RFC 8693 §4.2, RFC 9068 §2.2.3).
public struct ClaimsRule: Sendable {
  private struct Requirement: Sendable {
    let name: String
    let path: [String]
    let accepted: [String]
    /// Whether a text in the claim is a list of scopes.
    let hasScopes: Bool
  }

  private let requirements: [Requirement]

  /// Creates a rule from claims and their accepted values. Throws if there are no claims, if a claim has no
  /// name or no accepted value, or if a scope contains a space.
  public init(require: [(claim: String, accepted: [String])]) throws(Refusal) {
    guard !require.isEmpty else {
      throw Refusal(
        at: "require", "the rule requires no claim",
        "name a claim and its accepted values, as in { tier: [gold] }")
    }
    for (claim, accepted) in require {
      guard !claim.isEmpty, !accepted.isEmpty else {
        throw Refusal(
          at: "require.\(claim)", "no value is accepted, so the rule would deny everyone",
          "list the accepted values, as in { tier: [gold] }")
      }
      if Self.hasScopes(claim), let spaced = accepted.first(where: { $0.utf8.contains(UInt8(ascii: " ")) }) {
        throw Refusal(
          at: "require.\(claim)", "\(quoted(spaced)) has a space, and no scope has one",
          "list each accepted scope, as in { \(claim): [callback] }")
      }
    }
    requirements = require.map {
      let path = $0.claim.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      return Requirement(
        name: $0.claim, path: path.count > 1 ? path : [], accepted: $0.accepted,
        hasScopes: Self.hasScopes($0.claim))
    }
  }

  /// Whether every required claim has an accepted value.
  package func allows(_ claims: [FactMember]) -> Bool {
    for index in requirements.indices where !fulfils(claims, index) { return false }
    return true
  }

  /// Whether the claims meet the requirement at an index. Copies nothing.
  private func fulfils(_ claims: [FactMember], _ index: Int) -> Bool {
    for position in claims.indices where claims[position].name.hasSameBytes(as: requirements[index].name) {
      if requirements[index].hasScopes, case .string(let text) = claims[position].value {
        return Self.fits(scopes: text, requirements[index].accepted)
      }
      return Self.fits(claims[position].value, requirements[index].accepted)
    }
    guard let value = Self.value(at: requirements[index].path, in: claims) else { return false }
    return Self.fits(value, requirements[index].accepted)
  }

  /// The value at the end of a path into objects.
  static func value(at path: [String], in claims: [FactMember]) -> FactValue? {
    guard let first = path.first, var value = claims.first(where: { $0.name.hasSameBytes(as: first) })?.value
    else { return nil }
    for name in path.dropFirst() {
      guard let member = value[name] else { return nil }
      value = member
    }
    return value
  }

  /// The reason for the verdict: the first claim that fails, with its accepted values, or all claims if none
  /// fails.
  package func reason(_ claims: [FactMember], _ values: ValueDisclosure) -> String {
    func words(_ requirement: Requirement, isFulfilled: Bool) -> String {
      let name = "claim \(quoted(requirement.name))"
      let found =
        claims.first { $0.name.hasSameBytes(as: requirement.name) }?.value
        ?? Self.value(at: requirement.path, in: claims)
      guard let found else { return "\(name) is missing" }
      guard values == .shown else { return "\(name) has \(isFulfilled ? "an" : "no") accepted value" }
      return "\(name) is \(found.words)"
    }
    guard let index = requirements.indices.first(where: { !fulfils(claims, $0) }) else {
      return requirements.map { words($0, isFulfilled: true) }.joined(separator: ", ")
    }
    let requirement = requirements[index]
    let text = words(requirement, isFulfilled: false)
    return values == .shown
      ? text + "; \(listed(requirement.accepted.map { quoted($0) })) is required" : text
  }

  /// Whether the claim with this name contains scopes.
  private static func hasScopes(_ claim: String) -> Bool { claim == "scope" || claim == "scp" }

  private static func fits(scopes text: String, _ accepted: [String]) -> Bool {
    text.utf8.split(separator: UInt8(ascii: " ")).contains { scope in
      accepted.contains { $0.utf8.elementsEqual(scope) }
    }
  }

  private static func fits(_ value: FactValue, _ accepted: [String]) -> Bool {
    switch value {
    case .string(let text), .number(let text): return accepted.contains(exactly: text)
    case .bool(let flag): return accepted.contains(exactly: flag ? "true" : "false")
    case .array(let elements):
      for element in elements {
        // Only values of the list itself count, not those of a list inside the list.
        if case .array = element { continue }
        if fits(element, accepted) { return true }
      }
      return false
    case .null, .object: return false
    }
  }
}
