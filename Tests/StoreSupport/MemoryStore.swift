// A store for tests of the rooms in front of it.

import SQLiteStore
package import Store

/// An empty store in memory.
package func memoryStore() -> any Store { SQLiteStore.inMemory() }
