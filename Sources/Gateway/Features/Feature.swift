// The list of the server's features. A feature consists of endpoints and parts.

import API
import HTTP
import HTTPServer

/// A feature of the server: its endpoints, and the parts that run alongside requests.
struct Feature: Sendable {
  /// The endpoints, in the order in which paths are compared.
  let endpoints: [ServedEndpoint]
  /// Creates the feature's parts, in the order in which they start.
  let parts: @Sendable (Wiring) -> [Part]

  init(endpoints: [ServedEndpoint], parts: @escaping @Sendable (Wiring) -> [Part] = { _ in [] }) {
    self.endpoints = endpoints
    self.parts = parts
  }

  /// All features. Paths are compared and parts start in this order. The paths of GMS clients come before
  /// those of dialogs, which have the same form.
  static let all: [Feature] = [
    .access, .callbacks, .tickets, .availability, .installations, .notices, .gms, .dialogs, .outcomes,
    .agents,
    .operators, .blockedNumbers, .pages,
  ]
}

extension ServedEndpoint {
  /// Every endpoint, in the order in which paths are compared.
  static let table = Feature.all.flatMap(\.endpoints)
}

extension Endpoint {
  /// The description of every endpoint, in the order of the table.
  static let all = ServedEndpoint.table.map(\.endpoint)
}
