// A token that waits until an installation claims it with the id of a notification, as saved in the store.

public import Gate
public import JOSE
public import Texts

/// A token that waits to be claimed.
public struct StoredClaim: Hashable, Sendable {
  /// The maximum size of a claim's receipts, in bytes.
  public static let mostReceiptBytes = 4096
  /// The number of ended claims that the store keeps for an installation: the newest ones.
  package static let mostOver = 64

  /// SHA-256 of the notification's id. The store never has the id itself, so reading the store is not enough
  /// to claim.
  public let id: SHA256Digest
  /// The installation that requested the token. No other installation may claim it.
  public let installation: InstallationIdentity
  /// The id of the configured app that the token is for.
  @Exact public private(set) var appID: String
  /// When the installation requested the token.
  public let created: Instant
  /// The time from which the token can no longer be claimed.
  public let expires: Instant
  /// The allowances that the request took, to be given back. The store does not read these bytes.
  public let receipts: [UInt8]

  public init(
    id: SHA256Digest, installation: InstallationIdentity, appID: String, created: Instant, expires: Instant,
    receipts: [UInt8]
  ) {
    self.id = id
    self.installation = installation
    self.appID = appID
    self.created = created
    self.expires = expires
    self.receipts = receipts
  }

  /// The same claim after its end, without receipts.
  package var over: StoredClaim {
    StoredClaim(
      id: id, installation: installation, appID: appID, created: created, expires: expires, receipts: [])
  }

  /// Throws if the receipts are too long for a store.
  package func check() throws(StoreError) {
    guard receipts.count <= Self.mostReceiptBytes else {
      throw StoreError(.rejected, "open a claim", "\(receipts.count) bytes of receipts")
    }
  }
}

/// The state of a claim: live or ended.
public enum ClaimStanding: Hashable, Sendable {
  /// The claim waits to be redeemed. It may have expired: compare `expires`.
  case live(StoredClaim)
  /// The claim was redeemed or withdrawn, or it lapsed. Its receipts are gone.
  case over(StoredClaim)

  package var claim: StoredClaim {
    switch self {
    case .live(let claim), .over(let claim): claim
    }
  }
}

/// The content of the column `state` of a claim.
package enum ClaimState: String, Sendable {
  case live, redeemed, withdrawn, lapsed
}
