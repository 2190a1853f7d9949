// The command `callgate migrate`, which updates the schema of the store.

import ArgumentParser
import Configuration
import Gateway

/// `callgate migrate`: brings the store up to date.
struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Updates the store's schema.",
    discussion: """
      serve also updates the schema, under a lock. Use migrate to update it before serve starts. A second run changes nothing.

      Exit status: 0 if the schema is up to date, 69 if the store does not respond, 78 if the configured store cannot be used.
      """)

  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    let configuration = try options.load(for: .migrate)
    let result: Result<String, StoreFailure> = Blocker.run {
      do throws(StoreFailure) {
        return .success(try await StoreMigration.run(configuration))
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(let kind): Output.line("The store (\(kind)) is up to date.")
    case .failure(let failure):
      Output.message("callgate: the store cannot be used: \(failure)")
      throw (failure.isTemporary ? ExitStatus.unavailable : .configuration).exit
    }
  }
}
