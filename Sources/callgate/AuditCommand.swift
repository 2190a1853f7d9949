// The command `callgate audit verify`, which checks audit files for changes.

import ArgumentParser
import Configuration
import Diagnosis
import Gateway
import Platform
import Sealing
import Stores
import Texts

/// `callgate audit`: commands for audit files.
struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Verifies the tamper-evident audit log.",
    subcommands: [AuditVerifyCommand.self])
}

/// `callgate audit verify`: names the first line that was altered, removed, added or moved.
struct AuditVerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Names the first line of audit files that was altered, removed, added or moved.",
    discussion: """
      The files have lines of log.audit.chain. Give all files of one server in their order, the oldest first. The lines are \
      checked with the store key: from --key-file, or from the configuration. During and after a rotation of the store key, \
      give both keys. With a configuration, or variables that name the store, the ends of the chains are compared with the store's \
      anchors, so that a file without its last lines is found. docs/operate/audit.md explains what is proved.

      Examples:
        callgate audit verify --config callgate.yaml audit.log.1 audit.log
        callgate audit verify --key-file store-key --key-file old-store-key audit.log

      Exit status: 0 if the lines are whole, 77 if not, 69 if the store does not respond, 78 if no line was made with one of \
      the keys, or a file cannot be read.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(
    name: .customLong("key-file"),
    help: "A file with a store key, instead of the configuration's. Repeatable.",
    completion: .file())
  var keyFiles: [String] = []

  @Argument(help: "The audit files, the oldest first.", completion: .file())
  var files: [String]

  func run() throws {
    let configuration =
      keyFiles.isEmpty || options.config != nil ? try options.load(for: .migrate) : nil
    let keys = keyFiles.isEmpty ? try Self.keys(configuration) : try givenKeys()
    let anchors = try namesStore ? configuration.map { try Self.anchors($0) } : nil
    let report: AuditReport
    do throws(AuditReport.Unreadable) {
      report = try AuditReport(of: files, keys: keys, anchors: anchors)
    } catch {
      Output.message("callgate: \(error)")
      throw ExitStatus.configuration.exit
    }
    for line in report.lines { Output.line(line) }
    switch report.verdict {
    case .sound: return
    case .tampered: throw ExitStatus.refused.exit
    case .unknownKey: throw ExitStatus.configuration.exit
    }
  }

  /// Whether an option or variable names the configuration or the store, which has the anchors. A variable
  /// with only a store key does not count.
  private var namesStore: Bool {
    let names = [
      "CALLGATE_CONFIG", "CALLGATE_CONFIG_TEXT", "CALLGATE_STATE", "DATABASE_URL", "DATABASE_URL_FILE",
    ]
    let variables = ProcessEnvironment.variables()
    return options.config != nil || names.contains { variables[$0]?.isEmpty == false }
  }

  private static func keys(_ configuration: Configuration?) throws -> [StoreKey] {
    guard let keys = configuration?.storeKeys else {
      Output.message(
        "callgate: there is no store key: give --key-file, or a configuration with store.key_file")
      throw ExitStatus.configuration.exit
    }
    return keys.all
  }

  private static func anchors(_ configuration: Configuration) throws -> AuditReport.Anchors {
    let result: Result<AuditReport.Anchors, StoreFailure> = Blocker.run {
      do throws(StoreFailure) {
        return .success(try await AuditReport.Anchors(in: configuration.store))
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(let anchors): return anchors
    case .failure(let failure):
      Output.message(
        "callgate: the store cannot be used: \(failure); with --key-file and no --config the lines are checked without it"
      )
      throw (failure.isTemporary ? ExitStatus.unavailable : .configuration).exit
    }
  }

  private func givenKeys() throws -> [StoreKey] {
    try keyFiles.map { path in
      do {
        var bytes = try ConfigurationFiles.system.read(path, 1024).bytes
        bytes.dropFinalLineFeed()
        return try StoreKey(text: bytes)
      } catch {
        Output.message(
          "callgate: \(path): \(error is StoreKey.Malformed ? "it holds no store key" : "\(error)")")
        throw ExitStatus.configuration.exit
      }
    }
  }
}
