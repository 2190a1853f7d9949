// The identity of an installation in records: its id and the generation of its secret.

/// The `client_id` of an installation and the generation of its secret. Notifications, devices, claims,
/// dialogs and appointments belong to this pair. A new secret for the same `client_id` makes another
/// installation.
public struct InstallationIdentity: Hashable, Sendable {
  public let id: InstallationID
  /// The generation of the secret. 0 in rows of a release without this column.
  public let generation: Int64

  public init(_ id: InstallationID, generation: Int64) {
    self.id = id
    self.generation = generation
  }

  /// Reads the columns of id and generation. The generation is NULL in rows of a release that did not have
  /// it.
  package init(_ id: StoreID, column generation: Int64?) {
    self.init(InstallationID(id), generation: generation ?? 0)
  }

  /// The value for the column `generation`. Generation 0 is saved as NULL.
  package var column: Int64? { generation == 0 ? nil : generation }
}

extension InstallationIdentity: CustomStringConvertible {
  /// The `client_id`, for logs and audit lines.
  public var description: String { id.description }
}

/// The origin of a callback: the installation that requested it, if one did. It is saved outside the sealed
/// content.
public enum CallbackOrigin: Hashable, Sendable {
  /// Not known, because a release without these columns saved the record. The sealed content of an
  /// appointment has its origin.
  case unsaved
  /// The caller is not an installation.
  case other
  /// An installation requested the callback.
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

  /// The value for the column `generation`: NULL for `unsaved`, 0 for `other`.
  package var column: Int64? {
    switch self {
    case .unsaved: nil
    case .other: 0
    case .installation(let installation): installation.generation
    }
  }
}

/// The handling of appointments when their installation is revoked or replaced.
package enum Succession: Hashable, Sendable {
  /// Move the appointments to the new installation, which has the same owner.
  case passes(InstallationIdentity, to: InstallationIdentity, InstallationUser)
  /// End the appointments.
  case ends(InstallationIdentity, InstallationUser)

  /// The revoked or replaced installation.
  package var installation: InstallationIdentity {
    switch self {
    case .passes(let installation, _, _), .ends(let installation, _): installation
    }
  }

  /// The owner of the installation's records.
  package var owner: InstallationUser {
    switch self {
    case .passes(_, _, let owner), .ends(_, let owner): owner
    }
  }
}
