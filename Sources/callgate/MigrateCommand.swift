// The command `callgate migrate`, which updates the schema of the store.

import ArgumentParser
import Gateway

/// `callgate migrate`: brings the store up to date.
struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Brings the store's schema up to date and ends.",
    discussion: """
      serve does it too, under a lock, so this is for those who want it done before. Doing it again changes nothing.

      Exit status: 0, 69 if the store does not answer, 78 if it cannot be used as it is configured.
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
