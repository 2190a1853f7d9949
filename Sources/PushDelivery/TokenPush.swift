// Tells a device by push that a token waits.

package import API
package import Configuration
package import Gate
import JOSE
package import Notices
import Platform
package import Store
import Synchronization

/// Token by push under one configuration.
package struct TokenPush: Sendable {
  package let book: ClaimBook
  /// Notices of callbacks.
  package let notices: NoticeBook
  package let senders: NoticeSenders
  private let texts: Configuration.Notices.Texts

  /// - Parameter texts: What the phone shows.
  package init(
    _ book: ClaimBook, _ notices: NoticeBook, _ senders: NoticeSenders, texts: Configuration.Notices.Texts
  ) {
    self.book = book
    self.notices = notices
    self.senders = senders
    self.texts = texts
  }

  /// Keeps a claim, and sends its notice to the device of the installation that asked. It returns when the provider has taken the
  /// notice. If no provider takes it, the claim is withdrawn, and the grant's allowances are given back.
  ///
  /// Where its task is cancelled, it waits for the try that runs: only the provider knows whether it has taken the notice.
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

  /// Registers the device of an installation, and tells the device whose place it takes.
  package func register(
    _ token: DeviceAddress, of installation: InstallationIdentity
  ) async throws(Problem) {
    try await book.register(token, of: installation) { tell($0) }
  }

  /// Tells a device that another one has taken its place, in the background. What no provider takes is lost: the audit line says it, too.
  private func tell(_ replaced: StoredDevice) {
    guard let platform = PushPlatform(rawValue: replaced.platform),
      let token = DeviceAddress(replaced.token, platform: platform)
    else { return }
    let now = book.now
    let id = NoticeID.make(book.keys, for: replaced, at: now)
    let notice = StoredNotice(ofDevice: replaced, id: id.digest, created: now)
    let ends = now.advanced(by: CallbackNotices.newsLife)
    Task {
      // Before it leaves: the app may ask for it at once.
      do throws(StoreError) { try await book.store.keepNotice(notice) } catch { return }
      _ = await senders.send(
        Notice(
          id: id, action: .changed, text: texts.changed,
          ends: UnixTime(seconds: ends.seconds, nanoseconds: ends.nanoseconds)), to: token
      ) { true }
    }
  }

  /// Whether the client has gone. The first try is then the last.
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
      // A newer release has registered it for a provider that this one does not know.
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
  /// The name by which its provider knows it; nil for a provider that this release does not know.
  var pushToken: DeviceAddress? {
    PushPlatform(rawValue: platform).flatMap { DeviceAddress(token, platform: $0) }
  }
}
