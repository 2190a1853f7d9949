// Owns an open file descriptor and closes it exactly once.

import Glibc

/// The owner of an open descriptor, which is closed exactly once: when the owner is destroyed.
public struct Descriptor: ~Copyable, Sendable {
  /// The descriptor's number, valid as long as its owner.
  public let number: Int32

  /// Takes ownership of an open descriptor.
  public init(owning number: Int32) {
    precondition(number >= 0, "not a descriptor")
    self.number = number
  }

  /// A spare descriptor (of `/dev/null`), for the moment when the process has no other left; nil if none can
  /// be opened now.
  public static func spare() -> Descriptor? {
    let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
    return number < 0 ? nil : Descriptor(owning: number)
  }

  // close(2): on Linux the descriptor is gone whatever it returns, EINTR included, so it is never repeated.
  deinit { _ = close(number) }
}
