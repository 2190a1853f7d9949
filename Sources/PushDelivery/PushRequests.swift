// Reads the bodies of requests that register a device or claim a token.

package import API
import Installations
package import Notices

/// The body of `PUT /installations/self/push`.
package struct DeviceRequest: Sendable {
  package let token: DeviceAddress
  /// The maximum size of a request's body, in bytes. JSON may write each character of a token as six bytes.
  package static let contentBytes = 6 * DeviceAddress.longest + MemberReader.mostBytes

  /// Reads a request's body and checks all of it.
  ///
  /// - Parameter platforms: The configured providers.
  /// - Throws: `content_too_large`, `invalid_json`, or `invalid_request` with every problem.
  package init(parsing content: [UInt8], platforms: [PushPlatform]) throws(Problem) {
    var reader = try MemberReader(
      parsing: content, of: "platform and token", atMost: Self.contentBytes)
    let name = reader.value("platform", required: "Give \(PushPlatform.names).")
    let text = reader.value("token", required: "Give the token that the app got from the push provider.")
    let platform = name.flatMap { PushPlatform(rawValue: $0) }
    if name != nil, platform.map(platforms.contains) != true {
      let known = platforms.map(\.rawValue).joined(separator: ", ")
      let remedy = platforms.isEmpty ? "No push provider is configured." : "Give one of: \(known)."
      reader.problems.add(
        "platform",
        platform == nil || platforms.isEmpty
          ? remedy : "This push provider is not configured. \(remedy)")
    }
    let token = platform.flatMap { platform in text.flatMap { DeviceAddress($0, platform: platform) } }
    if text != nil, let platform, token == nil {
      reader.problems.add(
        "token",
        platform == .apns
          ? "Give 64 to 200 hexadecimal digits."
          : "Give 1 to \(DeviceAddress.longest) visible ASCII characters.")
    }
    reader.refuseOthers()
    try reader.problems.throwIfAny()
    guard let token else { throw Problem(.invalidRequest, "platform or token is missing.") }
    self.token = token
  }
}

/// The body of `POST /access/claim`.
package struct ClaimRequest: Sendable {
  /// The `_id` of the notification, not checked yet.
  package let id: String

  /// Reads a request's body and checks all of it.
  ///
  /// - Throws: The same as `DeviceRequest`.
  package init(parsing content: [UInt8]) throws(Problem) {
    var reader = try MemberReader(parsing: content, of: "claim")
    let id = reader.value("claim", required: "Give the _id of the notification.")
    reader.refuseOthers()
    try reader.problems.throwIfAny()
    guard let id else { throw Problem(.invalidRequest, "claim is missing.") }
    self.id = id
  }
}
