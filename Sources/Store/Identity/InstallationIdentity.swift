// What an installation is outside authentication: its id and the generation of its secret.

/// An installation: a `client_id` and the generation of its secret. Notices, devices, claims, dialogs and appointments belong to it.
/// Another delivery for the same `client_id` is another installation.
public struct InstallationIdentity: Hashable, Sendable {
  /// The `client_id`.
  public let id: InstallationID
  /// The generation. 0 in what a release without this column has saved.
  public let generation: Int64

  /// An identity.
  public init(_ id: InstallationID, generation: Int64) {
    self.id = id
    self.generation = generation
  }

  /// Reads two columns. The second is null in rows of a release that did not have it.
  package init(_ id: StoreID, column generation: Int64?) {
    self.init(InstallationID(id), generation: generation ?? 0)
  }

  /// The content of the column `generation`.
  package var column: Int64? { generation == 0 ? nil : generation }
}

extension InstallationIdentity: CustomStringConvertible {
  /// The `client_id`, for logs and audit lines.
  public var description: String { id.description }
}

/// Who made a callback, as far as it concerns installations. It stands outside the sealed content.
public enum CallbackOrigin: Hashable, Sendable {
  /// A release without these columns has saved the record. An appointment's sealed content has the origin.
  case unsaved
  /// The maker is no installation.
  case other
  /// An installation.
  case installation(InstallationIdentity)

  /// The origin of a new record.
  init(_ installation: InstallationIdentity?) { self = installation.map { .installation($0) } ?? .other }

  /// Reads the columns `installation` and `generation`.
  package init(_ id: StoreID?, column generation: Int64?) {
    switch (id, generation) {
    case (let id?, let generation?):
      self = .installation(InstallationIdentity(InstallationID(id), generation: generation))
    case (nil, 0?): self = .other
    default: self = .unsaved
    }
  }

  /// The installation, if it is known to be one.
  public var installation: InstallationIdentity? {
    if case .installation(let installation) = self { installation } else { nil }
  }

  /// The content of the column `generation`.
  package var column: Int64? {
    switch self {
    case .unsaved: nil
    case .other: 0
    case .installation(let installation): installation.generation
    }
  }
}

/// What becomes of the appointments of an installation that is revoked or replaced.
package enum Succession: Hashable, Sendable {
  /// The same owner has it again: they go over to the new installation.
  case passes(InstallationIdentity, to: InstallationIdentity, InstallationUser)
  /// They end.
  case ends(InstallationIdentity, InstallationUser)

  /// The installation that is over.
  package var installation: InstallationIdentity {
    switch self {
    case .passes(let installation, _, _), .ends(let installation, _): installation
    }
  }

  /// The owner of its records.
  package var owner: InstallationUser {
    switch self {
    case .passes(_, _, let owner), .ends(_, let owner): owner
    }
  }
}
