// The URL and headers of an outgoing request in libcurl's form, shared by equal requests to save memory.

import HTTP
import Platform
import Synchronization

/// The target and headers of requests, checked and in libcurl's form. Equal requests in a row that use their
/// own connections share one route (`TransferRoutes`), because thousands may wait.
final class TransferRoute: Sendable {
  let target: Target
  let url: String
  let proxy: Proxy?
  let fields: CurlFieldList
  /// The resource that transfers queue for: one path of one host, or the host's one connection.
  struct Place: Hashable {
    let origin: String
    let path: String
  }

  /// The resource that transfers with this route queue for.
  let place: Place

  init(_ request: OutboundRequest, _ settings: TransportSettings) throws(Target.Refusal) {
    let target = try Target(request.url)
    fields = CurlFieldList(try FieldLines.make(request.fields, userAgent: settings.userAgent))
    self.target = target
    url = target.url
    proxy = settings.proxies?.proxy(for: target)
    place = Place(origin: target.origin, path: settings.multiplexing == nil ? target.path : "")
  }

  /// The hosts and ports that libcurl needs to resolve: at most one, or two with some proxies. IP addresses
  /// need no lookup.
  var hostsToResolve: [(host: String, port: UInt16)] {
    var hosts: [(String, UInt16)] = []
    if let proxy { hosts.append((proxy.host, proxy.port)) }
    if proxy?.kind.resolvesLocally ?? true { hosts.append((target.host, target.port)) }
    return hosts.filter { IPAddress($0.0) == nil }
  }
}

/// Makes routes, and remembers the last one of a request that uses its own connection. Such requests follow
/// each other, to the same URL and with the same credential.
final class TransferRoutes: Sendable {
  private struct Last {
    let url: String
    let lines: [Fields.Line]
    let route: TransferRoute
  }

  private let settings: TransportSettings
  private let last = Mutex<Last?>(nil)

  init(_ settings: TransportSettings) { self.settings = settings }

  /// The route of a request.
  func route(of request: OutboundRequest) throws(Target.Refusal) -> TransferRoute {
    precondition(request.reuse != .never || settings.multiplexing == nil, "one connection is shared by all")
    // Remember only routes of requests of which thousands may wait. The fields of others may contain a
    // credential, which would stay here for an hour.
    guard request.reuse == .never else { return try TransferRoute(request, settings) }
    let lines = request.fields.lines
    let known = last.withLock { $0 }
    if let known, known.url == request.url, known.lines == lines { return known.route }
    let route = try TransferRoute(request, settings)
    last.withLock { $0 = Last(url: request.url, lines: lines, route: route) }
    return route
  }
}
