// Endpoints to list, block and unblock phone numbers.

import API
import Admin
import HTTP
import HTTPServer

extension Feature {
  /// The feature with the operators' endpoints for blocked numbers. Decisions read the list, and `Upkeep`
  /// refreshes it.
  static let blockedNumbers = Feature(endpoints: [
    ServedEndpoint(
      "/admin/numbers", for: .operators,
      .operators(.adminNumbers) { (administration, request, operators, exchange) throws(Problem) in
        try administration.listBlockedNumbers(request, operators, &exchange)
      }),
    ServedEndpoint(
      "/admin/numbers/block", for: .operators, auditing: .known(.block),
      .operators(.adminBlockNumber) { (administration, request, operators, exchange) throws(Problem) in
        try administration.blockNumber(request, operators, &exchange)
      }),
    ServedEndpoint(
      "/admin/numbers/unblock", for: .operators, auditing: .known(.unblock),
      .operators(.adminUnblockNumber) { (administration, request, operators, exchange) throws(Problem) in
        try administration.unblockNumber(request, operators, &exchange)
      }),
  ])
}
