// Writes the file in which `callgate test-call` saves the account's response, for the sandbox to replay.

import Configuration
import Documents
import Glibc

/// The file with the facts of a test call. It is checked before anything is sent, and written completely or
/// not at all. Only its owner can read it.
public struct FactsFile: Sendable {
  /// The reason why the file cannot be written.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    let path: String
    let reason: String

    public var description: String { "\(quoted(path: path)) cannot be written: \(reason)" }
  }

  private let path: String

  /// Checks that the file can be written. An existing file must contain the facts of an earlier test call.
  public init(_ path: String) throws(Failure) {
    self.path = path
    guard !path.isEmpty else { throw failure(ENOENT) }
    do throws(ConfigurationFiles.Failure) {
      let present = try ConfigurationFiles.system.read(path, 1 << 20)
      guard DrillFacts.areIn(present.bytes) else {
        throw ConfigurationFiles.Failure.system("it is not a facts file")
      }
    } catch .missing {
      // There is no such file yet, as expected.
    } catch {
      throw Failure(path: path, reason: "\(error)")
    }
    let trial = try create()
    close(trial.descriptor)
    unsafe unlink(trial.path)
  }

  /// Writes the facts. They replace those of an earlier test call.
  public func write(_ facts: [UInt8]) throws(Failure) {
    let new = try create()
    var code: Int32 = 0
    var rest = facts
    while code == 0, !rest.isEmpty {
      let count = unsafe Glibc.write(new.descriptor, rest, rest.count)
      if count >= 0 { rest.removeFirst(count) } else if errno != EINTR { code = errno }
    }
    if code == 0, fsync(new.descriptor) != 0, errno != EINVAL { code = errno }
    close(new.descriptor)
    if code == 0, unsafe rename(new.path, path) != 0 { code = errno }
    guard code == 0 else {
      unsafe unlink(new.path)
      throw failure(code)
    }
  }

  /// Creates an empty file in the same folder, which replaces the facts file once it is complete.
  private func create() throws(Failure) -> (descriptor: Int32, path: String) {
    let beside = "\(path).\(UInt32.random(in: .min ... .max)).new"
    let descriptor = unsafe open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure(errno) }
    // The umask may have removed permission bits, so the mode is set to 0600 explicitly.
    guard fchmod(descriptor, 0o600) == 0 else {
      let code = errno
      close(descriptor)
      unsafe unlink(beside)
      throw failure(code)
    }
    return (descriptor, beside)
  }

  private func failure(_ code: Int32) -> Failure {
    Failure(path: path, reason: unsafe String(cString: strerror(code)))
  }
}
