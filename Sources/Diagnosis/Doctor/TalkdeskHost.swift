// Recognizes Talkdesk's hosts and their regions in a URL.

import Talkdesk

/// The kind of a URL's host: Talkdesk's or any other.
enum TalkdeskHost: Equatable {
  /// An account's host in a region: `acme.talkdeskid.com`, or the domain itself without a name before it.
  case account(Region, name: String)
  /// The API host of a region.
  case api(Region)
  case elsewhere

  /// Classifies the host of an absolute URL.
  init(url: String) {
    let host = Self.host(of: url)
    for region in Region.allCases {
      if host == Self.host(of: region.apiBase) {
        self = .api(region)
        return
      }
      if host == region.idDomain || host.hasSuffix("." + region.idDomain) {
        self = .account(region, name: String(host.dropLast(region.idDomain.count + 1)))
        return
      }
    }
    self = .elsewhere
  }

  /// The region of a Talkdesk host; nil for any other host.
  var region: Region? {
    switch self {
    case .account(let region, _), .api(let region): region
    case .elsewhere: nil
    }
  }

  /// The host in lower case, without a port; empty if the URL has none.
  static func host(of url: String) -> String {
    guard let mark = url.firstRange(of: "://") else { return "" }
    let rest = url[mark.upperBound...]
    let authority = rest.prefix { !"/?#".contains($0) }
    if authority.first == "[" { return authority.prefix { $0 != "]" }.lowercased() + "]" }
    return authority.prefix { $0 != ":" }.lowercased()
  }
}
