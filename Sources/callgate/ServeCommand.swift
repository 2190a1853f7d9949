// The command `callgate serve`, which runs the server.

import ArgumentParser
import Configuration
import Gateway
import Glibc
import JOSE
import Notices
import Outcomes
import Platform
import Records
import Sandbox

/// `callgate serve`: runs the server.
struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Runs the server.",
    discussion: """
      Prints its address, then audit and log lines. On SIGTERM or SIGINT the server finishes running requests and exits \
      with 0. On SIGHUP, and when the file changes, it loads the configuration again. If the new configuration has a problem, \
      the server reports it and keeps the old one.

      Examples:
        callgate serve --sandbox
        callgate serve --sandbox --facts facts.json
        callgate serve callgate.yaml --port 9000

      Exit status: 0 after a signal, 69 if the port is taken, 78 if the configuration is wrong.
      """)

  @OptionGroup var source: ConfigurationArgument

  @Option(
    help: ArgumentHelp("The address to listen on. Without it: HOST, or listen.host.", valueName: "address"))
  var host: String?

  @Option(
    help: ArgumentHelp(
      "The port to listen on, 0 for a free one. Without it: PORT, or listen.port.", valueName: "number"))
  var port: String?

  @Option(
    help: ArgumentHelp(
      "The least severe line to log. Without it: CALLGATE_LOG_LEVEL, or log.level.", valueName: "level"),
    completion: .list(["debug", "info", "warning", "error"]))
  var logLevel: String?

  @Option(
    help: ArgumentHelp("json or text. Without it: CALLGATE_LOG_FORMAT, or log.format.", valueName: "format"),
    completion: .list(["json", "text"]))
  var logFormat: String?

  @Flag(help: "Use an emulated Talkdesk on this machine: no account, no network, no credentials needed.")
  var sandbox = false

  @OptionGroup var facts: FactsOption

  func validate() throws {
    guard facts.file == nil || sandbox else {
      throw ValidationError("--facts is for the sandbox. Add --sandbox.")
    }
  }

  private var flags: ConfigurationFlags {
    ConfigurationFlags(host: host, port: port, logLevel: logLevel, logFormat: logFormat)
  }

  /// The lowest limit on open files with room for clients beside the files that the process itself opens.
  private static let fewestDescriptors = 64

  func run() throws {
    ProcessSetup.openStandardDescriptors()
    let inherited = try InheritedSocket.descriptors(ProcessEnvironment.variables())
    let supervisor = try Supervisor(ProcessEnvironment.variables())
    // Before any thread starts, so that every thread inherits the blocked signals.
    let signals = SignalWatch(takingHangUp: true)
    // The server does not serve yet, so there is nothing to finish: a start that waits for a store or an
    // issuer ends at once.
    signals.onEnd { Self.endStart() }
    ProcessSetup.ignoreBrokenPipes()
    ProcessSetup.returnLargeBlocks()
    ProcessSetup.joinFreeBlocks()
    var configuration = try source.load(for: sandbox ? .sandbox : .serve, flags)
    do {
      try ProcessSetup.protectMemory()
      let descriptors = try ProcessSetup.raiseDescriptorLimit()
      guard descriptors.soft >= Self.fewestDescriptors else {
        Output.message(
          "callgate: the limit on open files is \(descriptors.soft): allow at least \(Self.fewestDescriptors) (ulimit -n)"
        )
        throw ExitStatus.configuration.exit
      }
      let talkdesk = sandbox ? try LocalTalkdesk.start(facts: try facts.load()) : nil
      let emulated = try talkdesk.map { try Self.upstream(of: $0) }
      let providers = talkdesk?.server.emulator.openProviders()
      let adminToken = sandbox && configuration.takesAdminToken ? try Self.makeAdminToken() : nil
      let users = sandbox ? try SandboxUsers() : nil
      let hook = sandbox ? HookSecret(Secret(try RandomBytes.make(HookSecret.leastBytes))) : nil
      let root = talkdesk?.server.emulator.rootOfPhones
      Self.enter(emulated, root, providers, adminToken, users, hook, into: &configuration)
      let clock = SandboxClock()
      let service = try Service(
        configuration: configuration, loops: try EventLoopGroup(), descriptorLimit: descriptors.soft,
        inherited: inherited, clock: sandbox ? clock : SystemClock(),
        scheduler: talkdesk?.server.emulator.clock, readStore: storeReading(),
        reload: reloading(with: emulated, root, providers, adminToken, users, hook),
        front: { gateway, controls in
          talkdesk.map {
            SandboxFront(
              emulator: $0.server.emulator, gateway: gateway,
              listeningOn: IPAddress(configuration.listen.host),
              link: GatewayLink(
                clock: clock, forgetTokens: controls.forgetTokens, clockMoved: controls.clockMoved,
                pauses: controls.pauses, endPauses: controls.endPauses, approve: controls.approveInstallation,
                adminToken: adminToken, users: users,
                dialing: hook.map { Self.dialing($0, controls, configuration) },
                attested: {
                  let apps = controls.attestedApps()
                  return AttestedApps(
                    project: apps.project, numbers: apps.numberProject, firebase: apps.firebase,
                    apple: apps.bundles,
                    android: apps.packages)
                }))
          } ?? gateway
        },
        isColoured: Style(STDOUT_FILENO).isColoured, write: { Output.standard.write($0).count })
      try Blocker.run { () async -> Result<Void, StartError> in
        do throws(StartError) { return .success(try await service.prepare()) } catch {
          return .failure(error)
        }
      }.get()
      guard signals.finishesWork() else { Self.endStart() }
      let (addresses, adminAddress) = try service.start { error in
        let status = Self.report(error)
        supervisor.tell(.stopping)
        Task {
          await Self.drain(service)
          _exit(status.rawValue)
        }
      }
      // A closed pipe or a full disk must not keep the server from serving.
      for address in addresses {
        _ = Output.standard.write(Array("callgate: listening on \(service.scheme)://\(address)\n".utf8))
      }
      if Output.isTerminal, configuration.log.format == .text {
        let operators: Banner.Operators =
          if let adminAddress {
            .listener("\(adminAddress)")
          } else if configuration.admin.token != nil || configuration.admin.namesOperators {
            .here(madeToken: adminToken)
          } else { .nowhere }
        Output.text(
          Banner.text(
            at: "\(service.scheme)://\(addresses[0])", isSandbox: sandbox,
            isOpen: configuration.allowAnonymous, operators: operators))
      }
      service.startLog()
      signals.onHangUp {
        Task {
          supervisor.tell(.reloading)
          service.reopenAuditFile()
          await service.reload(because: "SIGHUP")
          supervisor.tell(.ready)
        }
      }
      supervisor.tell(.ready)
      wait(for: signals, toEnd: service, and: talkdesk, telling: supervisor)
    } catch let error as StartError {
      throw Self.report(error).exit
    } catch let error as SystemError {
      Output.message("callgate: \(error)")
      throw ExitStatus.internal.exit
    }
  }

  /// Prints why the server does not serve. Returns the status to exit with.
  private static func report(_ error: StartError) -> ExitStatus {
    guard error.configurationProblems.isEmpty else {
      for problem in error.configurationProblems { Output.message(problem) }
      return .configuration
    }
    Output.message("callgate: \(error)")
    return error.isUnavailable ? .unavailable : .internal
  }

  /// Ends the process during its start, after a signal.
  private static func endStart() -> Never {
    Output.message("callgate: stopped before it was ready to serve")
    _exit(0)
  }

  /// Returns a function that reads the store's setting from the same sources.
  private func storeReading() -> @Sendable () -> Configuration.Store? {
    let sources = source.sources(flags)
    let purpose: ConfigurationPurpose = sandbox ? .sandbox : .serve
    return { ConfigurationLoader.store(sources, for: purpose) }
  }

  /// Returns a function that reloads the configuration from the same sources. The sandbox keeps its emulator.
  private func reloading(
    with emulated: Configuration.Upstream?, _ root: X509Certificate?, _ providers: NoticeProviders?,
    _ adminToken: Secret?, _ users: SandboxUsers?, _ hook: HookSecret?
  ) -> @Sendable () throws(ConfigurationErrors) -> LoadedConfiguration {
    let sources = source.sources(flags)
    let purpose: ConfigurationPurpose = sandbox ? .sandbox : .serve
    return { () throws(ConfigurationErrors) in
      var loaded = try ConfigurationLoader.load(sources, for: purpose)
      Self.enter(emulated, root, providers, adminToken, users, hook, into: &loaded.configuration)
      return loaded
    }
  }

  /// Makes a configuration use the parts of the sandbox. Without `--sandbox` all are nil, and nothing
  /// changes.
  private static func enter(
    _ emulated: Configuration.Upstream?, _ root: X509Certificate?, _ providers: NoticeProviders?,
    _ adminToken: Secret?, _ users: SandboxUsers?, _ hook: HookSecret?,
    into configuration: inout Configuration
  ) {
    if let emulated { configuration.use(emulated) }
    if let root { configuration.useRootOfAppAttest(root) }
    if let providers {
      let account = ServiceAccount(
        projectID: providers.projectID, clientEmail: providers.clientEmail, keyID: providers.keyID,
        tokenURI: providers.tokenURL, signer: providers.signer)
      configuration.useGoogle(of: account, at: providers.fcmURL)
      configuration.addProviders(
        externalURL: localURL(of: configuration.listen), serviceAccount: account,
        fcmURL: providers.fcmURL, hookURL: providers.hookURL, hookSecret: providers.hookSecret)
    }
    if let adminToken { configuration.addAdminToken(adminToken) }
    if let hook { configuration.addHook(hook) }
    if let users {
      configuration.addUsers(of: SandboxUsers.issuer, audience: SandboxUsers.audience, key: users.key)
    }
  }

  /// The settings with which the emulator reports calls to the server.
  private static func dialing(
    _ hook: HookSecret, _ controls: SandboxControls, _ configuration: Configuration
  ) -> Dialing {
    Dialing(
      scheme: configuration.listen.tls == nil ? "http" : "https", path: Secret(hook.exposedPath()),
      token: Secret(hook.exposedEventToken()),
      find: { id in
        await controls.findCallback(id).map { Dialing.Callback(traceID: $0.traceID, contact: $0.contact) }
      }, post: controls.post)
  }

  private static func makeAdminToken() throws -> Secret {
    Secret(Hex.encode(try RandomBytes.make(16)))
  }

  /// The URL of this server on this machine, with the configured port. The port is 0 if the configuration
  /// asks for a free one.
  private static func localURL(of listen: Configuration.Listen) -> String {
    let host = listen.host.contains(":") ? "[\(listen.host)]" : listen.host
    let scheme = listen.tls == nil ? "http" : "https"
    return "\(scheme)://\(host == "0.0.0.0" ? "127.0.0.1" : host):\(listen.port)"
  }

  private func wait(
    for signals: SignalWatch, toEnd service: Service, and talkdesk: LocalTalkdesk?,
    telling supervisor: Supervisor
  ) {
    signals.waitForEnd()
    supervisor.tell(.stopping)
    // A second SIGINT at a terminal ends at once. Further SIGTERMs change nothing.
    signals.onSecondInterrupt { _exit(130) }
    Blocker.run {
      await Self.drain(service)
      await talkdesk?.server.stop()
    }
  }

  private static func drain(_ service: Service) async {
    let lost = await service.drain()
    guard lost > 0 else { return }
    Output.messageAtOnce(
      "callgate: \(lost) log and audit lines were lost: standard output could not take them before the end")
  }

  /// The emulator as the configuration's upstream, reached over HTTP like the real one.
  private static func upstream(of talkdesk: LocalTalkdesk) throws -> Configuration.Upstream {
    guard let key = talkdesk.credential.privateKey, let registration = talkdesk.credential.registration else {
      preconditionFailure("a sandbox without a key of its own")
    }
    return Configuration.Upstream(
      tokenURL: talkdesk.server.baseURL + "/oauth/token", apiURL: talkdesk.server.baseURL,
      clientID: talkdesk.credential.clientID,
      authentication: .key(
        Configuration.SigningKey(
          id: registration.keyID, algorithm: registration.algorithm,
          source: .key(try PrivateKey(key.exposedBytes()))),
        next: nil))
  }
}

extension Configuration {
  /// Makes the configuration use the emulator in place of Talkdesk, Sendbird and Google's keys.
  fileprivate mutating func use(_ emulated: Upstream) {
    talkdesk.upstream = emulated
    useKeysOfAppCheck(at: emulated.apiURL + "/appcheck/v1/jwks")
    useKeysOfNumberProofs(at: emulated.apiURL + "/fpnv/v1beta/jwks")
    for index in desks.indices {
      desks[index].url = emulated.apiURL
      // The emulator accepts any token.
      desks[index].apiToken = Secret("sandbox")
      desks[index].deskURL = emulated.apiURL
      if desks[index].takesTickets { desks[index].deskToken = Secret("sandbox") }
    }
  }
}
