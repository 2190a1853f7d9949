// The store key of the sandbox, which is public and protects nothing.

import JOSE

extension StoreKeys {
  /// The key of every sandbox without one of its own. It is always the same, so a sandbox with a store survives a restart.
  public static let sandbox = StoreKeys(
    current: StoreKey(Secret(SHA256.digest(Array("callgate sandbox: this key is public".utf8)))))
}
