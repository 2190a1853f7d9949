// The response statuses that have their own metric series; all others share one.

/// The statuses that are told apart: those this project answers with, and 499 for a client that did not wait. Any other is
/// `other`, so that no handler can make series without end.
enum StatusCodes {
  /// The words for all of them, by index.
  static let words = codes.map(String.init) + ["other"]

  private static let codes = [
    200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 422, 429, 431, 499, 500, 502,
    503, 504,
  ]

  /// The index of a status among `words`.
  @inline(__always) static func index(of code: Int) -> Int {
    switch code {
    case 200: 0
    case 201: 1
    case 202: 2
    case 204: 3
    case 304: 4
    case 400: 5
    case 401: 6
    case 403: 7
    case 404: 8
    case 405: 9
    case 408: 10
    case 409: 11
    case 413: 12
    case 414: 13
    case 415: 14
    case 422: 15
    case 429: 16
    case 431: 17
    case 499: 18
    case 500: 19
    case 502: 20
    case 503: 21
    case 504: 22
    default: 23
    }
  }
}
