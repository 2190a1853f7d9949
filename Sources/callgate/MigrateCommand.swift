// The command `callgate migrate`, which updates the schema of the store.

import ArgumentParser
import Configuration
import Gateway
import Sealing
import Stores

/// `callgate migrate`: updates the schema of the store and, with `--reseal`, encrypts its values with the
/// current store key.
struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Updates the database schema and shows the store keys.",
    discussion: """
      serve also updates the schema, under a lock. Use migrate to update it before serve starts. A second run changes nothing.

      Instances of the previous release can keep serving meanwhile. Where a transaction of another session uses the tables, \
      such as that of pg_dump, migrate names it, waits until it ends, and continues. serve waits for 90 s.

      With --reseal, migrate encrypts every value of the previous store key again with the current one. You can then remove \
      the previous key. First give every instance the new key as its current one.

      Exit status: 0 if the schema is up to date, 69 if the store does not respond, 78 if the configured store or its \
      store keys cannot be used.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Flag(help: "Encrypt everything with the current store key and stop using the previous one.")
  var reseal = false

  func run() throws {
    let configuration = try options.load(for: .migrate)
    if reseal, configuration.storeKeys?.previous == nil {
      Output.message(
        "callgate: --reseal needs the current and the previous store key: set CALLGATE_STORE_KEY (store.key_file) and "
          + "CALLGATE_STORE_PREVIOUS_KEY (store.previous_key_file)")
      throw ExitStatus.configuration.exit
    }
    let result: Result<StoreMigration.Outcome, StoreFailure> = Blocker.run { [reseal] in
      do throws(StoreFailure) {
        return .success(
          try await StoreMigration.run(configuration, reseals: reseal) { Output.message("callgate: \($0)") })
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(let outcome):
      Output.line("The database (\(outcome.kind)) is up to date.")
      if let keys = outcome.keys { Output.line("Store key: \(keys).") }
    case .failure(let failure):
      Output.message("callgate: the store cannot be used: \(failure)")
      throw (failure.isTemporary ? ExitStatus.unavailable : .configuration).exit
    }
  }
}
