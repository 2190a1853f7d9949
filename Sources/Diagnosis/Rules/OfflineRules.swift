// Explains and tests rules from the command line, without server, store or credential.

import Callers
public import Configuration
public import Deciding
import Documents
import Gate
public import HTTP
import Platform
import Store
import Stores

/// The rules of a configuration, evaluated without a server. No stop is in effect, and allowances have only
/// the counts that a question or test gives.
public struct OfflineRules: Sendable {
  private let configuration: Configuration
  private let decider: Decider
  private let clock: any TimeSource

  /// Prepares the rules.
  /// - Parameter transport: The transport to remote policies. If it is nil, none is queried, and each counts
  ///   as failed.
  public init(_ configuration: Configuration, transport: (any HTTPTransport)?) {
    self.configuration = configuration
    let clock = SystemClock()
    let store = Configuration.Store.memory.open()
    self.clock = clock
    decider = Decider(
      apps: AppRegistry(configuration.servedApps), policy: configuration.policy,
      stops: StopBoard(store: store, clock: clock), ledger: AllowanceLedger(store: store),
      remotes: RemotePolicies(transport: transport, log: nil))
  }

  /// Decides on a request, and explains the decision. Throws the mistakes in the question.
  public func explain(_ question: Question) async throws(Question.Mistakes) -> Explanation {
    let inquiry = try question.inquiry(configuration, now: Instant(clock.unixTime))
    return await decider.explain(inquiry)
  }

  /// The result of a table of tests.
  public struct TableResult: Sendable {
    /// The number of tests that passed.
    public let passed: Int
    /// A line for each failed test: position, name, expected and actual decision.
    public let failures: [String]
  }

  /// Runs the tests in a file.
  /// - Throws: Everything that is wrong with the file.
  public func test(_ path: String, files: ConfigurationFiles) throws(ConfigurationErrors) -> TableResult {
    var problems = ProblemList()
    let start = DocumentPlace.file(path, line: 1, column: 1)
    var node: DocumentNode?
    do throws(ConfigurationFiles.Failure) {
      node = YAMLReader.read(try files.read(path, YAMLReader.maximumBytes).bytes, name: path, into: &problems)
    } catch {
      problems.add(.flag(path), nil, Refusal("cannot be read: \(error)", "name a file of tests"))
    }
    if let node {
      switch configuration.policy.readingTests(node, context: context) {
      case .tests(let tests): return run(tests)
      case .problems(let found): problems.add(contentsOf: found)
      }
    } else if problems.isEmpty {
      problems.add(start, nil, Refusal("is empty", "write a list of tests under tests:"))
    }
    throw ConfigurationErrors(problems: problems.sorted, notices: problems.notices)
  }

  private func run(_ tests: [RuleTest]) -> TableResult {
    let failures = tests.compactMap { test in
      test.failure(under: configuration.policy).map { failure in
        "\(test.place): \(test.name): \(failure)"
      }
    }
    return TableResult(passed: tests.count - failures.count, failures: failures)
  }

  private var context: RuleTestContext {
    let (configuration, decider) = (configuration, decider)
    return RuleTestContext(
      known: KnownNames(
        callers: Set(configuration.callers.map(\.id)), apps: Set(configuration.apps.map(\.id))),
      now: Instant(clock.unixTime)
    ) { facts, owner in
      let entrance: Entrance
      do throws(Refusal) {
        entrance = try configuration.entrance(facts, owner: owner)
      } catch {
        return .mistake(error)
      }
      if let reason = entrance.unauthenticated {
        return .refused(Denial(code: .unauthenticated, rule: nil), because: reason)
      }
      var facts = entrance.facts
      do throws(Decider.Refusal) {
        facts.appID = try decider.admit(entrance)?.id
      } catch {
        return .refused(Denial(code: error.denialCode, rule: nil), because: error.reason)
      }
      if let (code, reason) = entrance.refusal {
        return .refused(Denial(code: code, rule: nil), because: reason)
      }
      return .admitted(facts)
    }
  }
}
