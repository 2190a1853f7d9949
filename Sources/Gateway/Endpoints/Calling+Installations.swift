// What the callback of an installation has beside others': a code to verify the customer by, and an end when the installation ends.

import API
import Callers
import Delivery
import Gate
import Installations
import JOSE
import Records
import Sealing
import Store

extension Gateway {
  /// The next code of an installation, and the same sealed for the callback's record.
  func verificationCode(
    of installation: Installation, _ desk: InstallationDesk, _ intent: CallbackIntent,
    _ context: RequestContext
  ) async throws(Problem) -> (code: String, sealed: [UInt8]) {
    do throws(InstallationDesk.Failure) {
      let code = try await desk.callbackCode(installation)
      do throws(OpenSSLError) {
        return (code, try desk.codes.seal(code, for: intent.id))
      } catch {
        throw .random(error)
      }
    } catch {
      switch error {
      case .refused: throw .revoked
      case .store(let error):
        callbacks.log.storeFailed(error, doing: "code", context)
        throw Problem(.notSaved)
      case .random: throw Problem(error)
      }
    }
  }

  /// Says whether the installation of a callback that waits is still what it was when it asked. What the store cannot say is not
  /// sent: the revocation of a lost phone would otherwise hold only as long as the store answers.
  func recheck(
    _ installation: Installation, _ desk: InstallationDesk, _ context: RequestContext
  ) -> @Sendable () async -> Undelivered? {
    { [log = callbacks.log] in
      do throws(StoreError) {
        return try await desk.directory.holds(installation) ? nil : .revoked
      } catch {
        log.storeFailed(error, doing: "recheck", context)
        return .unchecked
      }
    }
  }
}

extension Generation {
  /// The code of a callback whose record has it, until its time is over.
  func verificationCode(of record: StoredCallback, at now: Instant, _ log: Log) -> String? {
    guard let kept = record.verificationCode, now < kept.until, let desk else { return nil }
    do throws(StoreKeys.Failure) {
      return try desk.codes.open(kept.sealed, of: record.id)
    } catch {
      log.write(
        .error, "the verification code of a callback cannot be opened, so the server leaves it out",
        ["id": record.id.description, "detail": "\(error)"])
      return nil
    }
  }
}
