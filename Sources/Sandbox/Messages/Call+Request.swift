// Copies the parts of an HTTP request that the emulator's endpoints judge.

import HTTP

extension Call {
  private static let secFetchSite = FieldName("Sec-Fetch-Site")

  /// Copies what the endpoints look at out of a request.
  init(_ request: borrowing Request) {
    method = request.method
    contentTypes = request.values(of: .contentType).map(request.string)
    authorizations = request.values(of: .authorization).map(request.string)
    host = request.text(of: .host)
    userAgent = request.text(of: .userAgent)
    traceparent = request.text(of: .traceparent)
    fetchSite = request.text(of: Self.secFetchSite)
    content = request.content
  }
}
