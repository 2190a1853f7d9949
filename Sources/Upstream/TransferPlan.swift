import HTTP
import Platform

/// A request that passed every check which needs no network: what the transfer thread is handed.
struct TransferPlan: Sendable {
  let method: Method
  let target: Target
  let proxy: Proxy?
  /// Field lines in libcurl's syntax.
  let fieldLines: [String]
  let content: [UInt8]
  let maximumContentLength: Int
  /// Whether a pooled connection may carry it and may be left in the pool.
  let reuse: Bool

  init(_ request: OutboundRequest, settings: TransportSettings) throws(TransportError) {
    do throws(Target.Refusal) {
      switch request.method {
      case .get, .head:
        guard request.content.isEmpty else { throw Target.Refusal("content with \(request.method.rawValue)") }
      case .post: break
      default: throw Target.Refusal("the method is not GET, HEAD or POST")
      }
      target = try Target(request.url)
      fieldLines = try FieldLines.make(request.fields, userAgent: settings.userAgent)
    } catch {
      throw TransportError(.invalidURL, sent: false, detail: error.detail)
    }
    method = request.method
    proxy = settings.proxies?.proxy(for: target)
    content = request.content
    maximumContentLength = max(0, request.maximumContentLength)
    reuse = request.reuse == .allowed
  }

  /// Where the transfer queues.
  var place: FairQueue<ObjectIdentifier>.Place { .init(origin: target.origin, path: target.path) }

  /// The host and port that libcurl will want to resolve, one or, with some proxies, two.
  var hostsToResolve: [(host: String, port: UInt16)] {
    var hosts: [(String, UInt16)] = []
    if let proxy { hosts.append((proxy.host, proxy.port)) }
    if proxy?.kind.resolvesLocally ?? true { hosts.append((target.host, target.port)) }
    return hosts.filter { IPAddress($0.0) == nil }
  }

  /// The addresses that `localhost` has whatever a resolver says: plain http depends on it.
  static let loopback = [IPAddress(v4: 0x7F00_0001), IPAddress(v6High: 0, low: 1)]
}
