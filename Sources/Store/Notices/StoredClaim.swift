// A token that an installation may claim with the id of a notice, as the store keeps it.

public import Gate
public import JOSE
public import Texts

/// A token that waits to be claimed.
public struct StoredClaim: Hashable, Sendable {
  /// How many bytes of receipts a claim may have.
  public static let mostReceiptBytes = 4096
  /// How many claims that are over the store keeps of an installation: the newest.
  package static let mostOver = 64

  /// SHA-256 of the notice's id. The store never has the id itself, so who reads the store cannot claim.
  public let id: SHA256Digest
  /// The installation that asked for the token: no other may claim it.
  public let installation: InstallationIdentity
  /// The id of the configured app that the token is for.
  @Exact public private(set) var appID: String
  /// When the installation asked.
  public let created: Instant
  /// From when on it can no longer be claimed.
  public let expires: Instant
  /// What the request took from allowances, to be given back; the store does not read these bytes.
  public let receipts: [UInt8]

  /// A claim.
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

  /// The same once it is over.
  package var over: StoredClaim {
    StoredClaim(
      id: id, installation: installation, appID: appID, created: created, expires: expires, receipts: [])
  }

  /// Refuses what no store keeps.
  package func check() throws(StoreError) {
    guard receipts.count <= Self.mostReceiptBytes else {
      throw StoreError(.rejected, "open a claim", "\(receipts.count) bytes of receipts")
    }
  }
}

/// What became of a claim.
public enum ClaimStanding: Hashable, Sendable {
  /// It waits, though its time may be over: compare `expires`.
  case live(StoredClaim)
  /// It was redeemed or withdrawn, or it lapsed. It has no receipts any more.
  case over(StoredClaim)

  /// The claim.
  package var claim: StoredClaim {
    switch self {
    case .live(let claim), .over(let claim): claim
    }
  }
}

/// The column of a claim that says what became of it.
package enum ClaimState: String, Sendable {
  case live, redeemed, withdrawn, lapsed
}
