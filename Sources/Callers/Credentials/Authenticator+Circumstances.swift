// The inputs of an authentication besides the request, and its results.

package import API
package import Installations
package import Platform
package import Store
package import Trust

extension Authenticator {
  /// The result of checking a request's credentials.
  package enum Outcome {
    case caller(Caller)
    // Indirect: each request passes an outcome on several times, and nearly all are callers.
    indirect case refused(Problem)
    /// Wait for this, then authenticate again with the result.
    indirect case first(Prerequisite)
  }

  /// A value that the server must fetch before it can identify the caller.
  package enum Prerequisite: Sendable {
    /// The issuer's keys, because the token names a key that is not known yet.
    case keys(KeySource)
    /// The installation with this id, from the store. `isGuarded`: too many logins from the address have
    /// failed, so the lookup waits for a turn.
    case installation(InstallationID, InstallationDirectory, isGuarded: Bool)
    /// The installation whose key made the proof, from the store. `isGuarded`: too many logins from the
    /// address have failed, so the lookup waits for a turn.
    case keyholder(VerifiedProof, InstallationDirectory, isGuarded: Bool)
    /// The spending of a proof in the store, because each proof works once. The caller is known.
    case proof(VerifiedProof)
    /// The keys of App Check, for a token that names a key that is not known yet. The caller is known.
    case appCheckKeys(KeySource)
  }

  /// The result of fetching a prerequisite.
  package enum Prepared: Sendable {
    case keys
    /// The installation with the id or the key; nil if there is none.
    case installation(KnownInstallation?)
    /// The lookup waited for a turn and got none in time.
    case noTurn
    case storeFailed(StoreError)
  }

  /// The address and times of a request, and what it has waited for.
  package struct Circumstances {
    /// The client's address.
    package let address: IPAddress
    /// The wall clock, for the dates of tokens, proofs and installations.
    package let time: UnixTime
    /// The monotonic clock, for the throttle and for caches.
    package let now: MonotonicTime

    /// The result of the prerequisite that this request has waited for, if any.
    package let prepared: Prepared?
    /// The proof of this request that was verified before a wait.
    package let proof: KnownProof?
    /// The address of the connection's peer. Nil if it is not known; then no proxy is trusted.
    package let peer: IPAddress?
    /// Whether this request has waited for the keys of App Check.
    package let hasFetchedAppCheckKeys: Bool
    /// Whether the content has not arrived yet. A success is then provisional: the complete request is
    /// authenticated again.
    package let isEarly: Bool
    /// Whether an installation that was revoked a short while ago still counts as a caller.
    let admitsRevoked: Bool

    package init(
      address: IPAddress, time: UnixTime, now: MonotonicTime, prepared: Prepared? = nil,
      hasFetchedAppCheckKeys: Bool = false, proof: KnownProof? = nil, peer: IPAddress? = nil,
      isEarly: Bool = false, admitsRevoked: Bool = false
    ) {
      self.admitsRevoked = admitsRevoked
      self.isEarly = isEarly
      self.proof = proof
      self.peer = peer
      self.prepared = prepared
      self.hasFetchedAppCheckKeys = hasFetchedAppCheckKeys
      self.address = address
      self.time = time
      self.now = now
    }

    /// The installation of a known proof, as it was read less than a second ago; nil if the store must be
    /// read.
    func holder(in directory: InstallationDirectory) -> KnownInstallation? {
      proof?.holder.flatMap { directory.known($0, now: now) }
    }

    var hasFetchedKeys: Bool { if case .keys = prepared { true } else { false } }
  }

  /// A verified proof, and the result of spending it, if the server has tried to spend it.
  package struct KnownProof: Sendable {
    let proof: VerifiedProof
    package let spending: ProofSpending?
    /// The id of the installation that has the key, if the server has looked it up in the store. The complete
    /// request finds the installation in the cache by this id.
    package let holder: InstallationID?

    package init(_ proof: VerifiedProof, _ spending: ProofSpending?, holder: InstallationID? = nil) {
      self.proof = proof
      self.spending = spending
      self.holder = holder
    }
  }
}
