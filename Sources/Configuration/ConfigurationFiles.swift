// Reads the files that a configuration names. Tests replace this reader with files in memory.

import Glibc
import Texts
public import Upstream

/// Reads files while the configuration loads.
public struct ConfigurationFiles: Sendable {
  /// The content of a file.
  public struct Content: Sendable {
    /// The bytes, without a byte order mark at the start.
    public var bytes: [UInt8]
    /// Whether the file begins with a byte order mark.
    var hasByteOrderMark = false
    /// The permission bits, as in `chmod`.
    public var mode: UInt32
    /// Whether the file belongs to root.
    public var isRootOwned: Bool
    /// The stamp that shows a change of the file.
    public var stamp: FileStamp

    public init(
      bytes: [UInt8], mode: UInt32 = 0o600, isRootOwned: Bool = false, stamp: FileStamp = .missing
    ) {
      self.bytes = bytes
      self.mode = mode
      self.isRootOwned = isRootOwned
      self.stamp = stamp
    }

    /// Whether more users have access to the file than its purpose needs. The group may read a file that root
    /// owns: PostgreSQL accepts such keys, and Kubernetes mounts a Secret into a pod that way.
    public var isOpen: Bool { mode & (isRootOwned ? 0o037 : 0o077) != 0 }
  }

  /// Why a file was not read.
  public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file does not exist.
    case missing
    /// The path is a directory.
    case directory
    /// The path is a pipe, a device or a socket.
    case irregular
    /// The file has more bytes than its purpose allows.
    case tooLarge(limit: Int)
    /// The file begins with the byte order mark of UTF-16.
    case utf16
    /// The system's error, in its own words.
    case system(String)

    public var description: String {
      switch self {
      case .missing: "there is no such file"
      case .directory: "it is a directory"
      case .irregular: "it is not a regular file"
      case .tooLarge(let limit): "it is larger than \(limit) bytes"
      case .utf16: "it is UTF-16, not UTF-8"
      case .system(let words): words
      }
    }
  }

  private let content: @Sendable (_ path: String, _ limit: Int) throws(Failure) -> Content

  /// Reads files with any function. Tests pass one that reads a dictionary.
  public init(read: @escaping @Sendable (_ path: String, _ limit: Int) throws(Failure) -> Content) {
    content = read
  }

  /// Reads a whole file of at most `limit` bytes, as an editor may have saved it: drops a byte order mark at
  /// the start, and refuses UTF-16.
  public func read(_ path: String, _ limit: Int) throws(Failure) -> Content {
    var content = try content(path, limit)
    guard !content.bytes.isUTF16 else { throw .utf16 }
    content.hasByteOrderMark = content.bytes.dropByteOrderMark()
    return content
  }

  /// The certificate authorities in a file of PEM.
  ///
  /// libcurl reads the file itself. It would miss the first certificate after a byte order mark, so libcurl
  /// gets the content of such a file instead.
  public func authorities(in path: String) -> Authorities {
    // libcurl reports a file that cannot be read.
    guard let content = try? read(path, Self.maximumAuthorityBytes), content.hasByteOrderMark else {
      return .file(path)
    }
    return .pem(content.bytes)
  }

  /// The maximum size of a file of certificate authorities, in bytes.
  static let maximumAuthorityBytes = 4 << 20

  /// Reads files from the file system.
  public static let system = ConfigurationFiles { path, limit throws(Failure) in
    // Opening a pipe without a writer would wait, so pipes are refused. A pipe cannot be read again either.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw failure(errno) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw failure(errno) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw .directory }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .irregular }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(errno) }
      if count == 0 { break }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
    }
    return Content(
      bytes: bytes, mode: status.st_mode & 0o7777, isRootOwned: status.st_uid == 0, stamp: FileStamp(status))
  }

  private static func failure(_ code: Int32) -> Failure {
    switch code {
    // No file can exist below a file, or under a name that is too long.
    case ENOENT, ENOTDIR, ENAMETOOLONG: .missing
    default: .system(unsafe String(cString: strerror(code)))
    }
  }
}
