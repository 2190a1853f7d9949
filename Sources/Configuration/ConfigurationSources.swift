// The inputs for loading a configuration, passed in so that loading itself reads nothing from the process.

public import Platform

/// Where a configuration comes from. Everything outside the process is passed in, so that loading is a pure function.
public struct ConfigurationSources: Sendable {
  /// The command line.
  public var flags: ConfigurationFlags
  /// The environment.
  public var environment: [String: String]
  /// How files are read.
  public var files: ConfigurationFiles
  /// Whether standard output is a terminal: logs are then `text` unless something says otherwise.
  public var writesToTerminal: Bool
  /// How long the disk of a file lasts. By default every disk lasts.
  public var diskLife: @Sendable (_ path: String) -> DiskLife
  /// Which file a path leads to. By default each path leads to a file of its own.
  public var identify: @Sendable (_ path: String) -> FileIdentity
  /// By what certificates are old or not yet valid.
  public var clock: any TimeSource

  /// Gathers the sources.
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

  /// Gathers the flags; the presence of `--sandbox` is the purpose.
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

/// What loading a valid configuration gives.
public struct LoadedConfiguration: Sendable {
  /// The configuration.
  public var configuration: Configuration
  /// Notices for operators; write each to the log once.
  public let notices: [ConfigurationNotice]
}
