// Writes the files of a new configuration for `callgate init`, after proving that they load and pass their
// tests.

public import Configuration
import Documents
import Gate
import Glibc
import JOSE
public import Platform

/// The folder into which `callgate init` writes the configuration of a server.
public struct Setup: Sendable {
  /// The folder, as an absolute path.
  public let folder: String
  private let isWorkingDirectory: Bool
  private let replaces: Bool
  private let hasAdmin: Bool
  private let files: ConfigurationFiles
  private let clock: any TimeSource

  /// The reason why nothing was written.
  public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// These files exist already.
    case exists([String])
    /// The system does not allow a write to this path.
    case refused(path: String, reason: String)
    /// The path cannot be used as a folder.
    case unusable(path: String, reason: String)
    /// Secrets would not be safe there, or git would not read `.gitignore`.
    case unfit(path: String, reason: String)
    /// A write failed, perhaps because the disk is full.
    case incomplete(path: String, reason: String)
    /// The new configuration does not load, or fails its tests.
    case invalid([String])

    public var description: String {
      switch self {
      case .exists(let paths):
        paths.map { "\($0): exists already — choose another folder with --dir, or overwrite with --force" }
          .joined(separator: "\n")
      case .refused(let path, let reason), .incomplete(let path, let reason):
        "cannot write \(quoted(path: path)): \(reason)"
      case .unusable(let path, let reason):
        "cannot write \(quoted(path: path)): \(reason) — name a folder with --dir"
      case .unfit(let path, let reason): "\(quoted(path: path)) cannot be used: \(reason)"
      case .invalid(let lines): lines.joined(separator: "\n")
      }
    }
  }

  /// Prepares a setup in a folder. Nothing is written yet.
  /// - Parameters:
  ///   - folder: The path of the folder.
  ///   - workingDirectory: The base of a relative path.
  ///   - replacing: Whether existing files may be overwritten.
  ///   - hasAdmin: Whether there is an admin token.
  ///   - files: Reads the existing `.gitignore`.
  ///   - clock: The clock for the example times of tests.
  public init(
    folder: String, workingDirectory: String, replacing: Bool, hasAdmin: Bool = true,
    files: ConfigurationFiles = .system, clock: any TimeSource = SystemClock()
  ) {
    let path = folder.hasPrefix("/") ? folder : "\(workingDirectory)/\(folder)"
    let names = path.split(separator: "/").filter { $0 != "." }
    self.folder = "/" + names.joined(separator: "/")
    isWorkingDirectory = self.folder == workingDirectory
    replaces = replacing
    self.hasAdmin = hasAdmin
    self.files = files
    self.clock = clock
  }

  /// Refuses a folder that cannot accept the files or, unless they may be overwritten, has some of them
  /// already. Call this before the first question.
  ///
  /// - Parameter sources: The files that flags name. These may already have their final path in the folder.
  public func checkFolder(_ sources: [String]) throws(Failure) {
    if !replaces {
      let schemas = ConfigurationReference.Schema.allCases.map(\.fileName)
      let names = [SetupDocuments.configurationName, SetupDocuments.testsName] + schemas
      let secrets =
        ([SetupDocuments.credentialName, SetupDocuments.passwordName, SetupDocuments.storeKeyName]
        + (hasAdmin ? [SetupDocuments.adminTokenName] : []))
        .filter { !isSource("\(folder)/\($0)", sources) }
      let taken = SetupFiles.occupied(names + secrets, in: folder)
      guard taken.isEmpty else { throw .exists(taken.map { "\(folder)/\($0)" }) }
    }
    do throws(SetupFiles.Failure) {
      try SetupFiles.check(folder, closed: SetupDocuments.secretsName)
    } catch {
      throw failure(error)
    }
    _ = try ignored()
  }

  /// The existing file with the app's password, if files are overwritten; nil if there is none.
  public var presentPassword: String? { present(SetupDocuments.passwordName) }

  /// The existing file with the store key, if files are overwritten; nil if there is none.
  public var presentStoreKey: String? { present(SetupDocuments.storeKeyName) }

  private func present(_ name: String) -> String? {
    replaces && !SetupFiles.occupied([name], in: folder).isEmpty ? "\(folder)/\(name)" : nil
  }

  /// Writes the files, all or none.
  /// - Parameter sources: The files that answers were read from. These may already have their final path in
  ///   the folder.
  /// - Returns: Lines about the written files and the next steps.
  public func write(_ answers: SetupAnswers, readFrom sources: [String]) throws(Failure) -> [String] {
    let documents = SetupDocuments(answers: answers, folder: folder)
    let configuration = Array(documents.configuration.utf8)
    let tests = Array(documents.tests(now: Instant(clock.unixTime)).utf8)
    let credential: [UInt8]
    do throws(KeyError) { credential = try documents.credentialFile() } catch { throw .invalid(["\(error)"]) }
    var secrets = [
      (SetupDocuments.credentialName, credential),
      (SetupDocuments.passwordName, answers.password.exposedBytes() + [0x0A]),
      (SetupDocuments.storeKeyName, answers.storeKey.exposedBytes() + [0x0A]),
    ]
    if let token = answers.adminToken {
      secrets.append((SetupDocuments.adminTokenName, token.exposedBytes() + [0x0A]))
    }
    try prove(configuration, tests, secrets)

    func file(_ name: String, _ bytes: [UInt8]) -> SetupFiles.File {
      SetupFiles.File(name: name, bytes: bytes, mode: nil, replaces: replaces)
    }
    var written = [
      file(SetupDocuments.configurationName, configuration), file(SetupDocuments.testsName, tests),
    ]
    written += secrets.map { name, bytes in
      SetupFiles.File(
        name: name, bytes: bytes, mode: 0o600, replaces: replaces || isSource("\(folder)/\(name)", sources))
    }
    written += ConfigurationReference.Schema.allCases.map { file($0.fileName, Array($0.document.utf8)) }
    if let ignored = try ignored() { written.append(ignored) }
    do throws(SetupFiles.Failure) {
      try SetupFiles.write(written, to: folder)
    } catch {
      throw failure(error)
    }
    return report(answers)
  }

  /// The new `.gitignore`; nil if it needs no change.
  private func ignored() throws(Failure) -> SetupFiles.File? {
    let name = ".gitignore"
    guard !SetupFiles.isLink("\(folder)/\(name)") else {
      throw .unfit(path: "\(folder)/\(name)", reason: "it is a symbolic link, which git does not follow")
    }
    var existing: ConfigurationFiles.Content?
    do throws(ConfigurationFiles.Failure) {
      existing = try files.read("\(folder)/\(name)", 1 << 20)
    } catch {
      guard error == .missing else {
        throw .unusable(path: "\(folder)/\(name)", reason: "\(error)")
      }
    }
    return SetupDocuments.ignored(beside: existing?.bytes ?? []).map {
      SetupFiles.File(name: name, bytes: $0, mode: existing.map { $0.mode }, replaces: existing != nil)
    }
  }

  /// Loads the new files before they are written, and runs their tests. Throws if they would not pass
  /// `callgate check`, or if a test fails.
  private func prove(
    _ configuration: [UInt8], _ tests: [UInt8], _ secrets: [(name: String, bytes: [UInt8])]
  ) throws(Failure) {
    var texts = [
      SetupDocuments.configurationName: configuration, SetupDocuments.testsName: tests,
    ]
    for secret in secrets { texts["\(folder)/\(secret.name)"] = secret.bytes }
    let files = ConfigurationFiles { [texts] path, _ throws(ConfigurationFiles.Failure) in
      guard let bytes = texts[path] else { throw .missing }
      return ConfigurationFiles.Content(bytes: bytes)
    }
    let sources = ConfigurationSources(
      flags: ConfigurationFlags(config: SetupDocuments.configurationName), files: files, clock: clock)
    let failures: [String]
    do throws(ConfigurationErrors) {
      let loaded = try ConfigurationLoader.load(sources, for: .check).configuration
      failures = try OfflineRules(loaded, transport: nil).test(SetupDocuments.testsName, files: files)
        .failures
    } catch {
      failures = error.problems.map(\.description)
    }
    guard failures.isEmpty else { throw .invalid(failures) }
  }

  private func isSource(_ path: String, _ sources: [String]) -> Bool {
    var (there, other) = (stat(), stat())
    guard unsafe stat(path, &there) == 0 else { return false }
    return sources.contains { source in
      unsafe stat(source, &other) == 0 && other.st_dev == there.st_dev && other.st_ino == there.st_ino
    }
  }

  private func failure(_ failure: SetupFiles.Failure) -> Failure {
    switch failure {
    case .exists(let names): return .exists(names.map { "\(folder)/\($0)" })
    case .unfit(let path, let reason): return .unfit(path: path, reason: reason)
    case .system(let path, let code):
      let reason = unsafe String(cString: strerror(code))
      switch code {
      case EACCES, EPERM, EROFS: return .refused(path: path, reason: reason)
      case ENOENT, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP, EEXIST: return .unusable(path: path, reason: reason)
      default: return .incomplete(path: path, reason: reason)
      }
    }
  }

  private func report(_ answers: SetupAnswers) -> [String] {
    let config = SetupDocuments.configurationName
    let credential =
      switch answers.authentication {
      case .secret: "the client secret"
      case .key: "the private key"
      }
    let number =
      answers.phoneNumber == nil
      ? ["  # callbacks need callbacks.talkdesk_phone_numbers in \(config) first"] : []
    let host = answers.listen.host
    let address =
      ["127.0.0.1", "::1", "0.0.0.0", "::"].contains(host)
      ? "localhost" : host.contains(":") ? "[\(host)]" : host
    return [
      "Written into \(folder):",
      "  \(config)                the configuration",
      "  \(SetupDocuments.testsName)                   tests for its rules",
      "  \(SetupDocuments.credentialName)  \(credential), mode 0600",
      "  \(SetupDocuments.passwordName)         the password of your app, mode 0600",
    ]
      + (hasAdmin
        ? ["  \(SetupDocuments.adminTokenName)          the admin token, mode 0600"] : [])
      + [
        "  \(SetupDocuments.storeKeyName)            the key that encrypts stored values, mode 0600",
        "  *.schema.json                schemas that editors use to check both files",
        "  .gitignore                   keeps secrets and state out of git",
        "",
        "Next:",
      ]
      + (isWorkingDirectory ? [] : ["  cd \(NewKey.shellWord(folder))"])
      + [
        "  callgate check \(config)",
        "  callgate doctor \(config)",
      ]
      + number
      + [
        "  callgate test-call \(config) --phone +…    # your own phone rings",
        "  callgate serve \(config)",
        "Then, in another terminal. No output means that everything works:",
        "  curl -u \"\(SetupDocuments.username):$(cat \(SetupDocuments.passwordName))\" '\(address):8080/access?probe'",
      ]
      + (hasAdmin
        ? ["Operator's page: http://127.0.0.1:9091/admin/   Pause all calls: callgate pause"] : [])
      + (answers.tokens == .both
        ? ["The app names its tokens: /access?app=callbacks, and /access?app=sdk for Talkdesk's SDK."] : [])
  }

}
