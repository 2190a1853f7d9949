// Lists the queries of Talkdesk's Live API, and shows where a result has numbers:
// `callgate talkdesk queries`.

public import Configuration
import HTTP
import Platform
import Synchronization
import Talkdesk
import Tokens
import Upstream

/// The list of queries that an operator can choose from, and the numbers in a query's result.
public enum QueryWork {
  /// The time to wait for a result. Talkdesk sends one at least every 60 seconds.
  private static let patience = Duration.seconds(90)

  /// Lists the queries, or shows the paths of one query's numbers.
  ///
  /// - Parameter report: Gets each line.
  public static func run(
    _ name: String?, _ configuration: Configuration, report: @escaping @Sendable (String) -> Void
  ) async throws(TriggerWork.Failure) {
    let (upstream, transport, token) = try await TriggerWork.open(configuration, scope: LiveAPI.scope)
    let api = LiveAPI(baseURL: upstream.apiURL, transport: transport)
    let result = await work(name, api, token, report)
    await transport.shutdown()
    try result.get()
  }

  private static func work(
    _ name: String?, _ api: LiveAPI, _ token: AccessToken, _ report: @escaping @Sendable (String) -> Void
  ) async -> Result<Void, TriggerWork.Failure> {
    do throws(LiveAPI.Failure) {
      guard let name else {
        for query in try await api.queries(token) {
          report(
            [
              query.name, query.id, words("params", query.params), words("filters", query.filters),
            ].filter { !$0.isEmpty }.joined(separator: "  "))
        }
        return .success(())
      }
      let url = try await api.subscribe(LiveSettings(query: name), token)
      guard let paths = try await paths(api, url, token) else {
        return .failure(
          .unavailable("the query sent no result within \(patience.components.seconds) seconds"))
      }
      if paths.isEmpty { report("the result has no number from 0 on") }
      for path in paths { report(path) }
      return .success(())
    } catch {
      switch error {
      case .refused, .unknownQuery, .foreignStream: return .failure(.refused(error.words))
      case .unavailable: return .failure(.unavailable("Talkdesk: \(error.words)"))
      }
    }
  }

  private static func words(_ title: String, _ names: [String]) -> String {
    names.isEmpty ? "" : "\(title): \(names.joined(separator: ", "))"
  }

  /// The paths of the numbers in the first result; nil if no result arrives in time.
  private static func paths(
    _ api: LiveAPI, _ url: String, _ token: AccessToken
  ) async throws(LiveAPI.Failure) -> [String]? {
    let found = Mutex<[String]?>(nil)
    let reader = Mutex(EventStreamReader())
    let take: @Sendable ([UInt8]) -> Bool = { bytes in
      let events: [StreamedEvent]
      do {
        events = try reader.withLock { try $0.take(bytes) }
      } catch {
        return false
      }
      guard let result = events.first(where: { $0.name == "result" }) else { return true }
      found.withLock { $0 = LiveMessage.paths(result) }
      return false
    }
    let end: Result<Void, LiveAPI.Failure> = await withTaskGroup(of: Result<Void, LiveAPI.Failure>.self) {
      group in
      group.addTask {
        do throws(LiveAPI.Failure) { return .success(try await api.follow(url, token, take: take)) } catch {
          return .failure(error)
        }
      }
      group.addTask {
        let clock = SystemClock()
        _ = await clock.hasSlept(until: clock.now + patience)
        return .success(())
      }
      defer { group.cancelAll() }
      return await group.next() ?? .success(())
    }
    // The reader itself ends the stream at the first result.
    if let paths = found.withLock({ $0 }) { return paths }
    try end.get()
    return nil
  }
}
