// Decides what each response of APNs means for a notification.

import HTTP
import JSON
import Platform

/// The table from APNs' status and reason to the reaction.
///
/// Source: Apple's "Handling notification responses from APNs". The reason decides; if it is missing or
/// unknown, the status decides.
enum APNsAnswer {
  /// The reaction to a response.
  static func reaction(_ reply: InboundResponse, now: UnixTime) -> Reaction {
    guard !(200..<300).contains(reply.status) else { return .settled(.taken) }
    let body = object(reply.content)
    let code = ProviderCode.read(body?["reason"]?.string)
    let words = "APNs \(reply.status)\(code.map { " \($0)" } ?? "")"
    var retry = NoticeVerdict.retry(reply, now: now, reason: words)
    // APNs limits how often a device gets notifications, not how many a server sends.
    if reply.status == 429, case .restProvider(let wait, _) = retry {
      retry = .restDevice(for: wait, reason: words)
    }

    switch code {
    case "BadDeviceToken", "DeviceTokenNotForTopic":
      return .settled(
        .deviceGone(
          since: nil,
          reason: "\(words); if this happens to every device, check notices.apns.environment and topic"))

    case "Unregistered", "ExpiredToken":
      return .settled(.deviceGone(since: time(body?["timestamp"]), reason: words))

    case "BadTopic", "MissingTopic", "TopicDisallowed":
      return .settled(.stopSender(reason: "\(words); check notices.apns.topic"))

    case "InvalidProviderToken", "MissingProviderToken", "BadEnvironmentKeyIdInToken",
      "BadEnvironmentKeyInToken", "Forbidden", "BadCertificate", "BadCertificateEnvironment":
      return .settled(
        .stopSender(reason: "\(words); check notices.apns.key_file, key_id, team_id and environment"))

    // APNs ties a connection to the team of the first token that was sent on it.
    case "UnrelatedKeyIdInToken":
      return .reconnect(
        otherwise: .stopSender(reason: "\(words); check notices.apns.key_file, key_id and team_id"))

    case "ExpiredProviderToken":
      return .renewCredential(
        atAnyAge: false, otherwise: .stopSender(reason: "\(words); check this machine's clock"))

    case "TooManyProviderTokenUpdates": return .useOlderCredential(otherwise: retry)
    case "IdleTimeout", "Shutdown": return .reconnect(otherwise: retry)
    case "TooManyRequests", "InternalServerError", "ServiceUnavailable": return .settled(retry)

    case "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "InvalidPushType",
      "DuplicateHeaders", "PayloadEmpty", "PayloadTooLarge", "MissingDeviceToken", "BadPath",
      "MethodNotAllowed":
      return .settled(.giveUp(reason: words))

    default:
      let verdict = verdict(reply.status, words, retry)
      return reply.status == 401 ? .renewCredential(atAnyAge: true, otherwise: verdict) : .settled(verdict)
    }
  }

  /// The verdict if the reason is missing or not in this table: the status decides.
  private static func verdict(_ status: Int, _ words: String, _ retry: NoticeVerdict) -> NoticeVerdict {
    switch status {
    case 410: .deviceGone(since: nil, reason: words)
    case 300..<400, 401, 403: .stopSender(reason: words)
    case 408, 429, 500...599: retry
    default: .giveUp(reason: words)
    }
  }

  private static func object(_ content: [UInt8]) -> JSONObject? {
    do {
      return try JSONValue(parsing: content).object
    } catch {
      // The content is not JSON, such as a proxy's HTML page: the status decides.
      return nil
    }
  }

  /// A time in milliseconds since 1970, up to the year 9999.
  private static func time(_ value: JSONValue?) -> UnixTime? {
    guard let milliseconds = value?.int(in: 0...253_402_300_799_999) else { return nil }
    return UnixTime(seconds: milliseconds / 1000, nanoseconds: Int32(milliseconds % 1000) * 1_000_000)
  }
}
