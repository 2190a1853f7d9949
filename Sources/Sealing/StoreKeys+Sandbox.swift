// The store key of the sandbox, which is public and protects nothing.

import JOSE

extension StoreKeys {
  /// The store key of every sandbox without a configured one. It is always the same, so that a sandbox can
  /// read its store again after a restart.
  public static let sandbox = StoreKeys(
    current: StoreKey(Secret(SHA256.digest(Array("callgate sandbox: this key is public".utf8)))))
}
