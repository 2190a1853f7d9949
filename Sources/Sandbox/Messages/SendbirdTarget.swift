// Reads which resource of the emulated Sendbird a path names.

import HTTP

/// The resource that a path of Sendbird names.
enum SendbirdTarget: Hashable, Sendable {
  case users
  case user(userID: String)
  case token(userID: String)

  /// Nil for a path that the emulator does not know.
  init?(_ request: borrowing Request) {
    let segments = request.pathSegments()
    guard segments.count >= 2, request.percentDecoded(segments[0]) == "v3",
      request.percentDecoded(segments[1]) == "users"
    else { return nil }
    if segments.count == 2 {
      self = .users
    } else if segments.count == 3, let id = request.percentDecoded(segments[2]) {
      self = .user(userID: id)
    } else if segments.count == 4, request.percentDecoded(segments[3]) == "token",
      let id = request.percentDecoded(segments[2])
    {
      self = .token(userID: id)
    } else {
      return nil
    }
  }

  /// Whether the resource supports a method.
  func takes(_ method: Method) -> Bool {
    switch self {
    case .users, .token: method == .post
    case .user: method == .get || method == .put
    }
  }
}
