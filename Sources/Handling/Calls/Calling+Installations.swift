// Creates the verification codes for callbacks of installations, and decrypts the codes in saved records.

import API
import Callers
import Delivery
import Gate
import Installations
import JOSE
import Records
import Responses
import Sealing
import Serving
import Store

extension Handlers {
  /// The next code of an installation, and the same code sealed for the callback's record.
  func verificationCode(
    of installation: Installation, _ service: InstallationService, _ intent: CallbackIntent,
    _ context: RequestContext
  ) async throws(Problem) -> (code: String, sealed: [UInt8]) {
    do throws(InstallationService.Failure) {
      let code = try await service.callbackCode(installation)
      do throws(OpenSSLError) {
        return (code, try service.codes.seal(code, for: intent.id))
      } catch {
        throw .random(error)
      }
    } catch {
      switch error {
      case .refused: throw .revoked
      case .store(let error):
        callbacks.log.storeFailed(error, doing: "code", context)
        throw Problem(.notSaved)
      case .random, .unrecorded: throw Problem(error)
      }
    }
  }
}

extension Generation {
  /// The verification code of a record, until it expires.
  func verificationCode(of record: StoredCallback, at now: Instant, _ log: Log) -> String? {
    guard let kept = record.verificationCode, now < kept.until, let service = installationService else {
      return nil
    }
    do throws(StoreKeys.Failure) {
      return try service.codes.open(kept.sealed, of: record.id)
    } catch {
      log.write(
        .error, "the verification code of a callback cannot be opened, so the server leaves it out",
        ["id": record.id.description, "detail": "\(error)"])
      return nil
    }
  }
}
