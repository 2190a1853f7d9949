// The command `callgate token`, which prints one access token.

import ArgumentParser
import Configuration
import Diagnosis
import Gateway
import Platform

/// `callgate token`: fetches one token as the server would, and prints it.
struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Fetches one token from Talkdesk ID and prints it.",
    discussion: """
      Prints only the token, for use in a command: curl -H "Authorization: Bearer $(callgate token)" …

      Exit status: 0 with a token, 69 if Talkdesk ID cannot be reached, 77 if it refuses, 78 if the configuration is wrong.
      """)

  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    let configuration = try options.load(for: .token)
    ProcessSetup.ignoreBrokenPipes()
    switch Blocker.run({ await TokenFetch.token(configuration) }) {
    case .success(let token): Output.line(token)
    case .failure(let failure):
      Output.message("callgate: \(failure.description)")
      throw (failure.isRefusal ? ExitStatus.refused : .unavailable).exit
    }
  }
}
