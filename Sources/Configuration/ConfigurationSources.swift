// The inputs for loading a configuration, passed in so that loading itself reads nothing from the process.

public import Platform

/// The sources of a configuration. Everything outside is passed in, so that loading reads nothing from the
/// process.
public struct ConfigurationSources: Sendable {
  /// The command line.
  public var flags: ConfigurationFlags
  public var environment: [String: String]
  /// Reads the files that the configuration names.
  public var files: ConfigurationFiles
  /// Whether standard output is a terminal. Logs are then `text`, unless `log.format` is set.
  public var writesToTerminal: Bool
  /// Determines whether the disk under a path outlives the process, the container or the machine. By default
  /// every disk does.
  public var diskLife: @Sendable (_ path: String) -> DiskLife
  /// Identifies the file that a path leads to. By default each path leads to a different file.
  public var identify: @Sendable (_ path: String) -> FileIdentity
  /// The clock for checks of the configuration: whether certificates are valid now, and whether opening hours
  /// are ever open together.
  public var clock: any TimeSource

  public init(
    flags: ConfigurationFlags = ConfigurationFlags(), environment: [String: String] = [:],
    files: ConfigurationFiles, writesToTerminal: Bool = false,
    diskLife: @escaping @Sendable (_ path: String) -> DiskLife = { _ in .lasting },
    identify: @escaping @Sendable (_ path: String) -> FileIdentity = { FileIdentity(unresolved: $0) },
    clock: any TimeSource = SystemClock()
  ) {
    self.flags = flags
    self.environment = environment
    self.files = files
    self.writesToTerminal = writesToTerminal
    self.diskLife = diskLife
    self.identify = identify
    self.clock = clock
  }
}

/// The flags of the command line, as typed.
public struct ConfigurationFlags: Sendable {
  /// `--config FILE`
  public var config: String?
  /// `--host H`
  public var host: String?
  /// `--port N`
  public var port: String?
  /// `--log-level L`
  public var logLevel: String?
  /// `--log-format F`
  public var logFormat: String?

  /// Gathers the flags. `--sandbox` is not among them, because it sets the purpose.
  public init(
    config: String? = nil, host: String? = nil, port: String? = nil, logLevel: String? = nil,
    logFormat: String? = nil
  ) {
    self.config = config
    self.host = host
    self.port = port
    self.logLevel = logLevel
    self.logFormat = logFormat
  }
}

/// The result of loading a valid configuration.
public struct LoadedConfiguration: Sendable {
  public var configuration: Configuration
  /// Notices for operators; write each to the log once.
  public let notices: [ConfigurationNotice]
}
