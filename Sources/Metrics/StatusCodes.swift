// The response statuses that have their own metric series; all others share one.

/// The statuses with their own series: common ones of this server, and 499 for a client that did not wait.
/// All others share `other`, which limits the number of series.
enum StatusCodes {
  /// The words for all series, by index.
  static let words = codes.map(String.init) + ["other"]

  private static let codes = [
    200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 422, 429, 431, 499, 500, 502,
    503, 504,
  ]

  /// The index of a status among `words`. Searches from the front, because nearly every response is a 200.
  static func index(of code: Int) -> Int { codes.firstIndex(of: code) ?? codes.count }
}
