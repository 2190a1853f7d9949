// Finds the endpoint for the path of a request.

import API
import Documents
import HTTP
import HTTPServer
import Records

/// The parameters of a path, in order, as ranges of the request's head, still percent-encoded.
typealias PathParameters = [Range<Int>]

/// The endpoint of a request's path. Literal paths are compared as received: they need no percent-encoding.
struct Route {
  enum Destination {
    /// An endpoint, by its index in the table.
    case endpoint(Int)
    /// `OPTIONS *`: the server itself (RFC 9110 §9.3.7).
    case server
    /// An unknown path below `/admin/`. Only operators learn that it is unknown.
    case unknownToOperators
    case unknown
  }

  let destination: Destination
  var parameters: PathParameters = []

  init(_ request: borrowing Request) {
    for path in Self.literals where request.pathIs(path.text) {
      destination = .endpoint(path.endpoint)
      return
    }
    if !Self.templates.isEmpty {
      let segments = request.pathSegments()
      for template in Self.templates {
        guard let parameters = template.match(segments, of: request) else { continue }
        destination = .endpoint(template.endpoint)
        self.parameters = parameters
        return
      }
    }
    if request.pathIs("*") {
      destination = .server
    } else if request.pathStarts(with: "/admin/") {
      destination = .unknownToOperators
    } else {
      destination = .unknown
    }
  }

  /// The endpoint's description, if there is an endpoint.
  var endpoint: Endpoint? { served?.endpoint }

  /// The endpoint with its handlers, if there is one.
  var served: ServedEndpoint? {
    if case .endpoint(let index) = destination { ServedEndpoint.table[index] } else { nil }
  }

  var isUnknownToOperators: Bool { if case .unknownToOperators = destination { true } else { false } }

  // MARK: Paths

  /// A path that a client probably meant; nil if none is similar. Operators' paths are not suggested.
  static func nearest(to request: borrowing Request) -> String? {
    // A longer path is hardly a typing mistake, and comparing it would take time.
    guard request.path.count <= 64 else { return nil }
    let known = Endpoint.all.filter { $0.audience != .operators }.flatMap(\.paths)
      // Our text: the table's paths.
      .filter { !$0.contains("{") }
    return Spelling.nearest(to: String(decoding: request.head[request.path], as: UTF8.self), among: known)
  }

  private static let literals: [(text: String, endpoint: Int)] = Endpoint.all.enumerated().flatMap {
    index, endpoint in
    // Our text: the table's paths.
    endpoint.paths.filter { !$0.contains("{") }.map { ($0, index) }
  }

  private static let templates: [Template] = Endpoint.all.enumerated().flatMap { index, endpoint in
    // Our text: the table's paths.
    endpoint.paths.filter { $0.contains("{") }.map { Template($0, index) }
  }

  /// A path with parameters. Duplicate and trailing slashes are tolerated.
  private struct Template: Sendable {
    /// The literal segments; nil for a parameter.
    let segments: [String?]
    let endpoint: Int

    init(_ path: String, _ endpoint: Int) {
      // Our text: a path of the table.
      segments = path.split(separator: "/").map { $0.hasPrefix("{") ? nil : String($0) }
      self.endpoint = endpoint
    }

    func match(_ ranges: [Range<Int>], of request: borrowing Request) -> PathParameters? {
      guard ranges.count == segments.count else { return nil }
      var parameters: PathParameters = []
      for (range, segment) in zip(ranges, segments) {
        guard let segment else {
          parameters.append(range)
          continue
        }
        guard request.equals(range, segment) else { return nil }
      }
      return parameters
    }
  }
}

// MARK: In metrics

extension Route {
  /// The label for metrics: `Exchange.route`, an index into `labels`.
  var label: UInt8 {
    switch destination {
    case .unknown, .unknownToOperators: Self.otherLabel
    case .server: Self.serverLabel
    case .endpoint(let index): UInt8(Self.firstLabel + index)
    }
  }

  /// The label of an unknown path, or of a path that the sandbox serves.
  private static let otherLabel: UInt8 = 0
  /// The label of a refused request whose path is unknown.
  private static let refusedLabel: UInt8 = 1
  private static let serverLabel: UInt8 = 2
  private static let firstLabel = 3

  /// The values of the label `route`: the template of each endpoint's first path, so that clients cannot
  /// create an unlimited number of series.
  static let labels = ["other", "refused", "*"] + Endpoint.all.map { $0.paths[0] }

  /// The label of a request that the server refused before a handler saw it.
  static func label(of refused: RefusedRequest) -> UInt8 {
    // A request that a handler has seen keeps its label.
    if refused.route != otherLabel { return refused.route }
    return refused.request.map { Route($0).label } ?? refusedLabel
  }
}

extension ServiceMetrics {
  /// Creates the metrics of all endpoints, for the given number of loops.
  convenience init(loops: Int) {
    self.init(loops: loops, routes: Route.labels, audited: Set(Endpoint.all.flatMap(\.actions)))
  }
}
