// Recognizes requests that a browser sends for a page of another origin.

extension Request {
  private static let secFetchSite = FieldName("Sec-Fetch-Site")

  /// Whether a web page of another origin, or a link on one, sent the request. False for this server's own
  /// pages, for addresses that a person typed, and for clients that are not browsers.
  ///
  /// A page of any site can make a browser send requests here, but the browser reveals this in fields that no
  /// page can set. Over TLS and to loopback it sends `Sec-Fetch-Site`. Otherwise scripts and forms send
  /// `Origin`, which must name this server's host. A link then sends neither field, so it is not recognized.
  package var isOfForeignPage: Bool {
    switch values(of: Self.secFetchSite).map(string) {
    case ["none"], ["same-origin"]: false
    case []: !values(of: .origin).allSatisfy(isOwnOrigin)
    default: true
    }
  }

  /// Whether a script or form of another origin sent the request, as far as `Origin` shows. False if the
  /// request has `Sec-Fetch-Site`. A link never sends `Origin`.
  package var hasForeignOrigin: Bool { values(of: Self.secFetchSite).isEmpty && isOfForeignPage }

  /// Whether `Sec-Fetch-Site` or `Origin` names another origin, even if the other field contradicts it. For
  /// endpoints that no page of this server uses behind a proxy that changes `Host`.
  package var namesForeignOrigin: Bool { isOfForeignPage || !values(of: .origin).allSatisfy(isOwnOrigin) }

  /// Whether a value of `Origin` has the host and port of the `Host` field, with http or https. A proxy that
  /// ends TLS keeps the host but not the scheme.
  private func isOwnOrigin(_ range: Range<Int>) -> Bool {
    let origin: [UInt8] = head[range].map(\.lowercasedASCII)
    return values(of: .host).contains { range in
      let host: [UInt8] = head[range].map(\.lowercasedASCII)
      return ["http://", "https://"].contains { origin.elementsEqual(Array($0.utf8) + host) }
    }
  }
}
