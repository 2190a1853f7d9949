// The command `callgate probe`, which tests a running server for monitoring.

import ArgumentParser
import Configuration
import Diagnosis
import Gateway
import Glibc
import Platform
import Texts
import Upstream

/// `callgate probe`: tests a running server, for monitoring.
struct ProbeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe",
    abstract: "Smoke-tests a running server: one allowed request, three refused ones.",
    discussion: """
      Sends one request that must work (GET /access?probe, which counts against no quota and returns no token). Three more \
      requests must fail: without a credential, with a wrong one, and for an unknown app. Without a credential the command \
      expects a server for anonymous callers, and the three are an unknown app, another method and an unknown path. It checks \
      statuses, problem codes, Cache-Control, X-Request-Id, and that no response contains a token.

      Give the credential as a file, or in CALLGATE_PROBE_USER or CALLGATE_PROBE_BEARER: other users of the machine can read \
      the arguments of a command. The command verifies https. It accepts plain http for loopback only.

      Examples:
        callgate probe https://calls.example.com --user-file /run/secrets/probe
        CALLGATE_PROBE_BEARER=… callgate probe https://calls.example.com --json
        callgate probe http://127.0.0.1:8080

      Exit status: 0 if every response is the expected one, 64 for wrong arguments, 69 if the server does not respond or cannot \
      serve, 70 for an unexpected response, 77 if the server refuses the request that must work.
      """)

  @Argument(help: ArgumentHelp("The server's address: https://calls.example.com.", valueName: "url"))
  var url: String

  @Option(help: ArgumentHelp("A caller's HTTP Basic credential.", valueName: "user:password"))
  var user: String?

  @Option(help: ArgumentHelp("A caller's API key or JWT.", valueName: "token"))
  var bearer: String?

  @Option(help: ArgumentHelp("A file with USER:PASSWORD.", valueName: "file"))
  var userFile: String?

  @Option(help: ArgumentHelp("A file with an API key or a JWT.", valueName: "file"))
  var bearerFile: String?

  @Option(
    help: ArgumentHelp(
      "A PEM file of the certificate authorities to trust instead of the system's.", valueName: "file"))
  var caFile: String?

  @Option(help: ArgumentHelp("The time limit of each request in seconds, 1–60.", valueName: "seconds"))
  var timeout = 10

  @Flag(help: "Print one JSON object.")
  var json = false

  func validate() throws {
    guard [user, bearer, userFile, bearerFile].compactMap({ $0 }).count <= 1 else {
      throw ValidationError("Give one of --user, --bearer, --user-file and --bearer-file.")
    }
    guard (1...60).contains(timeout) else { throw ValidationError("--timeout: write 1 to 60 seconds") }
  }

  func run() throws {
    ProcessSetup.ignoreBrokenPipes()
    let credential = try credential()
    let (url, timeout, caFile) = (url, timeout, caFile)
    let result: Result<ProbeReport, Failure> = Blocker.run {
      do throws(TransportSetupError) {
        let transport = try CurlTransport(
          TransportSettings(authorities: caFile.map { ConfigurationFiles.system.authorities(in: $0) }))
        let probe = Probe(
          url: url, credential: credential, transport: transport, clock: SystemClock(),
          timeout: .seconds(timeout))
        let result: Result<ProbeReport, Failure>
        do throws(Probe.InvalidURL) {
          result = .success(try await probe.run())
        } catch {
          result = .failure(.url("\(error)"))
        }
        await transport.shutdown()
        return result
      } catch {
        return .failure(.setup(error))
      }
    }
    switch result {
    case .success(let report): try show(report)
    case .failure(.url(let detail)):
      Output.message("callgate: \(detail) — write it as https://HOST, or http:// for loopback")
      throw ExitStatus.usage.exit
    case .failure(.setup(let error)):
      Output.message("callgate: \(error)")
      if case .library = error { throw ExitStatus.internal.exit }
      throw ExitStatus.usage.exit
    }
  }

  private enum Failure: Error {
    case url(String)
    case setup(TransportSetupError)
  }

  private func show(_ report: ProbeReport) throws {
    if json {
      Output.line(report.json)
    } else {
      let style = Style(STDOUT_FILENO)
      for line in report.lines {
        let status = line.status.map(String.init) ?? "---"
        Output.line(
          style.column(Self.word(line.verdict), width: 6, line.verdict == .ok ? .good : .bad)
            + "\(status)  \(line.request)  \(line.purpose) → \(line.found)  (\(line.milliseconds) ms)")
      }
    }
    switch report.verdict {
    case .ok: return
    case .surprise: throw ExitStatus.internal.exit
    case .refused: throw ExitStatus.refused.exit
    case .unreachable: throw ExitStatus.unavailable.exit
    }
  }

  private static func word(_ verdict: ProbeReport.Verdict) -> String { verdict == .ok ? "ok" : "FAIL" }

  /// The credential from the flag, the file or the environment; nil for none.
  private func credential() throws -> ProbeCredential? {
    let environment = ProcessEnvironment.variables()
    func variable(_ name: String) -> String? {
      var bytes = Array((environment[name] ?? "").utf8)
      bytes.dropByteOrderMark()
      bytes.dropFinalLineFeed()
      return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
    if let user {
      return try read("--user") { () throws(ProbeCredential.Malformed) in try .init(user: user) }
    }
    if let bearer {
      return try read("--bearer") { () throws(ProbeCredential.Malformed) in try .init(bearer: bearer) }
    }
    if let userFile {
      let text = try content(of: userFile, "--user-file")
      return try read("--user-file") { () throws(ProbeCredential.Malformed) in try .init(user: text) }
    }
    if let bearerFile {
      let text = try content(of: bearerFile, "--bearer-file")
      return try read("--bearer-file") { () throws(ProbeCredential.Malformed) in try .init(bearer: text) }
    }
    switch (variable("CALLGATE_PROBE_USER"), variable("CALLGATE_PROBE_BEARER")) {
    case (nil, nil): return nil
    case (let user?, nil):
      return try read("CALLGATE_PROBE_USER") { () throws(ProbeCredential.Malformed) in try .init(user: user) }
    case (nil, let bearer?):
      return try read("CALLGATE_PROBE_BEARER") { () throws(ProbeCredential.Malformed) in
        try .init(bearer: bearer)
      }
    default:
      Output.message(
        "callgate: CALLGATE_PROBE_USER and CALLGATE_PROBE_BEARER are both set — keep one of them")
      throw ExitStatus.usage.exit
    }
  }

  private func read(
    _ source: String, _ body: () throws(ProbeCredential.Malformed) -> ProbeCredential
  ) throws -> ProbeCredential {
    do throws(ProbeCredential.Malformed) { return try body() } catch {
      Output.message("callgate: \(source): \(error)")
      throw ExitStatus.usage.exit
    }
  }

  /// A file's text without a final newline.
  private func content(of path: String, _ option: String) throws -> String {
    do {
      var bytes = try ConfigurationFiles.system.read(path, 65_536).bytes
      bytes.dropFinalLineFeed()
      return String(decoding: bytes, as: UTF8.self)
    } catch {
      Output.message("callgate: \(option) \(path): \(error)")
      throw ExitStatus.usage.exit
    }
  }
}
