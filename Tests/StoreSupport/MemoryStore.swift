// A store for tests of the code that calls a store.

import SQLiteStore
package import Store

/// An empty store in memory.
package func memoryStore() -> any Store { SQLiteStore.inMemory() }
