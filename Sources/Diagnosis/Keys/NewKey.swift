// Generates a private key for `callgate key generate`, and prints it or writes it to a new file.

import Configuration
import Documents
import Glibc
import JOSE

/// A new private key, which can be printed as variables or written to a new file.
public struct NewKey: Sendable {
  /// The algorithms of new keys: those of `TD_KEY_ALGORITHM`.
  public static let algorithms = Settings.talkdeskAlgorithms.map(\.rawValue)

  /// The reason why no key was generated or saved.
  public enum Failure: Error, Sendable, CustomStringConvertible {
    /// The algorithm is not one of ``NewKey/algorithms``.
    case unknownAlgorithm(String)
    /// OpenSSL could not generate or encode the key, for this reason.
    case generation(String)
    /// A file or folder with that name exists already; it is never overwritten.
    case exists(path: String)
    /// The folder does not exist, or the path names a folder, is too long, or has too many symbolic links.
    case unusablePath(String, reason: String)
    /// The system does not allow a write to this path.
    case refused(path: String, reason: String)
    /// The write failed; the partial file is removed.
    case incomplete(path: String, reason: String)

    public var description: String {
      switch self {
      case .unknownAlgorithm(let name):
        "unknown algorithm \(quoted(name)) — use one of \(NewKey.algorithms.joined(separator: ", "))"
      case .generation(let words): words
      case .exists(let path):
        "\(quoted(path: path)) exists already and is never overwritten — name a new file"
      case .unusablePath(let path, let reason):
        "cannot create \(quoted(path: path)): \(reason) — name a new file"
      case .refused(let path, let reason): "cannot create \(quoted(path: path)): \(reason)"
      case .incomplete(let path, let reason): "cannot write \(quoted(path: path)): \(reason)"
      }
    }
  }

  private let algorithm: SignatureAlgorithm
  private let key: PrivateKey

  /// Makes a key for an algorithm.
  public init(algorithm name: String) throws(Failure) {
    guard Self.algorithms.contains(name), let algorithm = SignatureAlgorithm(rawValue: name) else {
      throw .unknownAlgorithm(name)
    }
    do {
      key = try PrivateKey.generate(for: algorithm)
    } catch {
      throw .generation("\(error)")
    }
    self.algorithm = algorithm
  }

  /// The public half as PEM, with a final newline.
  public var publicKey: String { key.publicKey.pem() }

  /// The line that names the algorithm.
  public var algorithmLine: String { "TD_KEY_ALGORITHM=\(algorithm.rawValue)" }

  /// The line with the key itself: PKCS#8 in Base64.
  public func variableLine() throws(Failure) -> String {
    do {
      return "TD_PRIVATE_KEY=\(Base64.encode(try key.pkcs8DER().exposedBytes()))"
    } catch {
      throw .generation("\(error)")
    }
  }

  /// Writes the key as PEM into a new file that only its owner can read. Returns the line that names the
  /// file, with quotation marks for a shell if it needs them.
  public func write(to path: String) throws(Failure) -> String {
    let pem: Secret
    do {
      pem = try key.pem()
    } catch {
      throw .generation("\(error)")
    }
    // With O_EXCL, not even a dangling symbolic link is followed.
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.failure(errno, path) }
    defer { close(descriptor) }
    // The umask may have removed permission bits, so the mode is set to 0600 explicitly.
    var code: Int32 = fchmod(descriptor, 0o600) == 0 ? 0 : errno
    var rest = pem.exposedBytes()
    while code == 0, !rest.isEmpty {
      let count = unsafe Glibc.write(descriptor, rest, rest.count)
      if count >= 0 { rest.removeFirst(count) } else if errno != EINTR { code = errno }
    }
    if code == 0, fsync(descriptor) != 0, errno != EINVAL { code = errno }
    guard code == 0 else {
      unsafe unlink(path)
      throw .incomplete(path: path, reason: Self.words(code))
    }
    return "TD_PRIVATE_KEY_FILE=\(Self.shellWord(path))"
  }

  private static func failure(_ code: Int32, _ path: String) -> Failure {
    switch code {
    case EEXIST: .exists(path: path)
    case ENOENT, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP: .unusablePath(path, reason: words(code))
    default: .refused(path: path, reason: words(code))
    }
  }

  private static func words(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }

  static func shellWord(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x2F, 0x5F: true
      default: false
      }
    }
    return isPlain
      ? text
      : "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
