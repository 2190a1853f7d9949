// The commands `numbers block`, `unblock` and `list`, for the blocked numbers of a running server.

import ArgumentParser
import Diagnosis

/// `callgate numbers`: commands for phone numbers that are never called.
struct NumbersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "numbers",
    abstract: "Blocks, unblocks and lists phone numbers at a running server.",
    discussion: "The server never calls a blocked number. No rule or setting lifts a block.",
    subcommands: [BlockCommand.self, UnblockCommand.self, BlockedListCommand.self])
}

/// `callgate numbers block`: stops calls to a number.
struct BlockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "block",
    abstract: "Blocks a phone number.",
    discussion: """
      Every instance with the same database refuses callbacks to the number within 2 seconds, and appointments when they are \
      due. Blocking a number again replaces its reason and end.

      \(AdminOptions.discussion)

      Examples:
        callgate numbers block +14155550123 --reason "customer complained"
        callgate numbers block +14155550123 --until 2027-01-01T00:00:00Z

      \(AdminOptions.exits)
      """)

  @OptionGroup var admin: AdminOptions

  @Argument(help: "The phone number: + and the country code first.")
  var phone: String

  @Option(help: ArgumentHelp("The reason, for operators; at most 200 characters.", valueName: "text"))
  var reason: String?

  @Option(
    help: ArgumentHelp(
      "When the block ends: 2027-01-01T00:00:00Z. Without it: when you unblock the number.", valueName: "time"
    ))
  var until: String?

  func run() throws {
    let order = AdminClient.Command.blockNumber(phone, reason: reason, until: until)
    for line in try admin.ask(for: order).lines { Output.line(line) }
  }
}

/// `callgate numbers unblock`: lets the rules decide about a number again.
struct UnblockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unblock",
    abstract: "Unblocks a phone number.",
    discussion: """
      Without a block nothing changes.

      \(AdminOptions.discussion)

      Examples:
        callgate numbers unblock +14155550123

      \(AdminOptions.exits)
      """)

  @OptionGroup var admin: AdminOptions

  @Argument(help: "The phone number: + and the country code first.")
  var phone: String

  func run() throws {
    for line in try admin.ask(for: .unblockNumber(phone)).lines { Output.line(line) }
  }
}

/// `callgate numbers list`: lists all blocked numbers, page by page.
struct BlockedListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists the blocked phone numbers, newest first.",
    discussion: """
      The server stores no full number, so the list shows only the last two digits. All times are in UTC.

      \(AdminOptions.discussion)

      Examples:
        callgate numbers list
        callgate numbers list --json

      \(AdminOptions.exits)
      """)

  @OptionGroup var admin: AdminOptions

  @Flag(help: "Print each number as one line of JSON.")
  var json = false

  func run() throws {
    try admin.printPages(asJSON: json) { .blockedNumbers(after: $0) }
  }
}
