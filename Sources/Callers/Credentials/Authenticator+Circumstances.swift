// The inputs of an authentication in addition to the request, and its result.

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
    /// The keys of the issuer whose token names a key that is not known yet.
    case keys(KeySource)
    /// An installation in the store. `isGuarded`: the address is guessing credentials, so the look-up waits
    /// for a turn.
    case installation(InstallationID, InstallationDirectory, isGuarded: Bool)
    /// The installation in the store that has the key of a proof. `isGuarded`: the address is guessing
    /// credentials, so the look-up waits for a turn.
    case keyholder(VerifiedProof, InstallationDirectory, isGuarded: Bool)
    /// Spending a proof, which works once. The caller is known.
    case proof(VerifiedProof)
    /// The keys of App Check, for a token that names a key that is not known yet. The caller is known.
    case appCheckKeys(KeySource)
  }

  /// The result of fetching a prerequisite.
  package enum Prepared: Sendable {
    case keys
    /// The installation of the id, if there is one.
    case installation(KnownInstallation?)
    /// The look-up got no turn in time.
    case noTurn
    case storeFailed(StoreError)
  }

  /// The address and times of a request, and what it has waited for.
  package struct Circumstances {
    /// Where the request comes from.
    package let address: IPAddress
    /// The wall clock, for tokens' dates.
    package let time: UnixTime
    /// The monotonic clock, for the throttle.
    package let now: MonotonicTime

    /// The fetched value, if this request has waited for one.
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

  /// A verified proof, and the result of spending it, if the store was asked to spend it.
  package struct KnownProof: Sendable {
    let proof: VerifiedProof
    package let spending: ProofSpending?
    /// The id of the installation that has the key, if the store was asked for it. The complete request finds
    /// the installation in the cache by this id.
    package let holder: InstallationID?

    package init(_ proof: VerifiedProof, _ spending: ProofSpending?, holder: InstallationID? = nil) {
      self.proof = proof
      self.spending = spending
      self.holder = holder
    }
  }
}
