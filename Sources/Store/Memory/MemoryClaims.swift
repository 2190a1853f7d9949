// Claims in memory, which are lost when the process ends.

import Gate
import JOSE

/// All claims, with the live ones of each installation.
struct MemoryClaims: Sendable {
  private var claims: [SHA256Digest: StoredClaim] = [:]
  private var live: [InstallationIdentity: [SHA256Digest]] = [:]
  /// Those that are over, in the order of their ends.
  private var over: [InstallationIdentity: [SHA256Digest]] = [:]

  mutating func open(_ claim: StoredClaim, most: Int) -> [StoredClaim]? {
    guard claims[claim.id] == nil else { return nil }
    let others = (live[claim.installation] ?? []).compactMap { claims[$0] }.sorted { $0.created < $1.created }
    let lapsed = Array(others.dropLast(max(most - 1, 0)))
    for other in lapsed { _ = end(other.id) }
    forgetOld(of: claim.installation)
    claims[claim.id] = claim
    live[claim.installation, default: []].append(claim.id)
    return lapsed
  }

  private mutating func forgetOld(of installation: InstallationIdentity) {
    guard let ended = over[installation], ended.count > StoredClaim.mostOver else { return }
    let kept = ended.compactMap { claims[$0] }.sorted { $0.created > $1.created }.prefix(StoredClaim.mostOver)
    for id in Set(ended).subtracting(kept.map(\.id)) { claims[id] = nil }
    over[installation] = kept.map(\.id)
  }

  func standing(_ id: SHA256Digest) -> ClaimStanding? {
    claims[id].map { isLive($0) ? .live($0) : .over($0) }
  }

  mutating func redeem(_ id: SHA256Digest, by installation: InstallationIdentity, at time: Instant) -> Bool {
    guard let claim = claims[id], claim.installation == installation, time < claim.expires else {
      return false
    }
    return end(id)
  }

  /// Ends a claim; false where it is not live.
  mutating func end(_ id: SHA256Digest) -> Bool {
    guard let claim = claims[id], let place = live[claim.installation]?.firstIndex(of: id) else {
      return false
    }
    live[claim.installation]?.remove(at: place)
    if live[claim.installation]?.isEmpty == true { live[claim.installation] = nil }
    claims[id] = claim.over
    over[claim.installation, default: []].append(id)
    return true
  }

  mutating func lapse(at time: Instant, most: Int) -> [StoredClaim] {
    let over = live.values.joined().compactMap { claims[$0] }.filter { $0.expires <= time }
    let lapsed = Array(over.sorted { $0.expires < $1.expires }.prefix(most))
    for claim in lapsed { _ = end(claim.id) }
    return lapsed
  }

  mutating func purge(madeUpTo time: Int64) -> Int {
    let old = claims.values.filter { $0.created.nanosecondsSinceEpoch <= time }.map(\.id)
    for id in old {
      _ = end(id)
      claims[id] = nil
    }
    over = over.mapValues { $0.filter { claims[$0] != nil } }.filter { !$0.value.isEmpty }
    return old.count
  }

  private func isLive(_ claim: StoredClaim) -> Bool { live[claim.installation]?.contains(claim.id) ?? false }
}
