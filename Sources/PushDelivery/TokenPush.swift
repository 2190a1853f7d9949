// Sends a push notification to a device when a token waits for it.

package import API
package import Configuration
package import Gate
import JOSE
package import Notices
import Platform
package import Store
import Synchronization

/// Delivers tokens by push notification, with the settings of one configuration.
package struct TokenPush: Sendable {
  package let book: ClaimBook
  /// The saved notifications about callbacks.
  package let notices: NoticeBook
  package let senders: NoticeSenders
  private let texts: Configuration.Notices.Texts

  /// - Parameter texts: The texts that the phone shows.
  package init(
    _ book: ClaimBook, _ notices: NoticeBook, _ senders: NoticeSenders, texts: Configuration.Notices.Texts
  ) {
    self.book = book
    self.notices = notices
    self.senders = senders
    self.texts = texts
  }

  /// Saves a claim, and sends its notification to the device of the installation that requested the token.
  /// Returns when the provider has accepted the notification. If the provider does not accept it, the claim
  /// is withdrawn, and the grant's allowances are given back.
  ///
  /// If the task is canceled, this function still waits for the running attempt, because only the provider
  /// knows whether it accepted the notification.
  package func send(_ grant: consuming Grant, to device: StoredDevice) async throws(Problem) {
    precondition(grant.action == .access, "a token by push without a grant of access")
    guard let appID = grant.appID else { preconditionFailure("an installation has an app") }
    let receipts = grant.receipts
    let departure = Departure()
    let result: Result<Void, Problem> = await withTaskCancellationHandler {
      await Task {
        do throws(Problem) {
          return .success(try await send(receipts, appID, to: device, departure))
        } catch {
          return .failure(error)
        }
      }.value
    } onCancel: {
      departure.hasHappened.store(true, ordering: .relaxed)
    }
    try result.get()
  }

  /// Registers the device of an installation, and notifies the device that it replaces.
  package func register(
    _ token: DeviceAddress, of installation: InstallationIdentity
  ) async throws(Problem) {
    try await book.register(token, of: installation) { tell($0) }
  }

  /// Notifies a device, in the background, that another one replaced it. A notification that is not accepted
  /// is lost; the audit line records the change, too.
  private func tell(_ replaced: StoredDevice) {
    guard let platform = PushPlatform(rawValue: replaced.platform),
      let token = DeviceAddress(replaced.token, platform: platform)
    else { return }
    let now = book.now
    let id = NoticeID.make(book.keys, for: replaced, at: now)
    let notice = StoredNotice(ofDevice: replaced, id: id.digest, created: now)
    let ends = now.advanced(by: CallbackNotices.newsLife)
    Task {
      // Save the notification before it is sent, because the app may ask about it at once.
      do throws(StoreError) { try await book.store.keepNotice(notice) } catch { return }
      _ = await senders.send(
        Notice(
          id: id, action: .changed, text: texts.changed,
          ends: UnixTime(seconds: ends.seconds, nanoseconds: ends.nanoseconds)), to: token
      ) { true }
    }
  }

  /// Whether the client has left. If so, no attempt follows the running one.
  private final class Departure: Sendable {
    let hasHappened = Atomic<Bool>(false)
  }

  private func send(
    _ receipts: [AllowanceReceipt], _ appID: String, to device: StoredDevice, _ departure: Departure
  ) async throws(Problem) {
    let id: NoticeID
    do throws(OpenSSLError) {
      id = try NoticeID.make(book.keys)
    } catch {
      await book.giveBack(receipts)
      throw Problem(.internal, "The server could not generate an id. Try again.")
    }
    let claim = try await book.open(id, for: device.installation, appID: appID, receipts)
    var device = device
    let outcome: NoticeSenders.Outcome
    if let token = device.pushToken {
      outcome = await senders.send(
        Notice(
          id: id, action: .access, text: texts.access,
          ends: UnixTime(seconds: claim.expires.seconds, nanoseconds: claim.expires.nanoseconds)), to: token
      ) {
        !departure.hasHappened.load(ordering: .relaxed)
      } readdress: { setback in
        if case .deviceGone(let since) = setback { await book.drop(device, goneSince: since) }
        guard let other = await book.replacement(of: device) else { return nil }
        device = other
        return other.pushToken
      }
    } else {
      // A newer release registered the device for a provider that this one does not know.
      outcome = .notTaken(retryAfter: nil)
    }
    if outcome == .taken { return await book.used(device) }
    await book.withdraw(claim)
    switch outcome {
    case .taken: return
    case .deviceGone: throw .noDevice
    case .notTaken(let wait):
      throw Problem(
        .upstreamUnavailable, "The push provider did not accept the notification.",
        tryAgainAfter: (wait ?? .seconds(5)).wholeSecondsRoundedUp)
    }
  }
}

extension StoredDevice {
  /// The token by which the push provider identifies the device; nil if this release does not know the
  /// provider, or if the saved text is no token of that provider.
  var pushToken: DeviceAddress? {
    PushPlatform(rawValue: platform).flatMap { DeviceAddress(token, platform: $0) }
  }
}
