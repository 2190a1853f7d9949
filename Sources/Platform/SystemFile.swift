// Reads a file, up to a maximum size or line by line.

import Glibc

/// Functions that read a file or an open descriptor: up to a maximum size, or line by line.
public enum SystemFile {
  /// The bytes of a file. Of a longer file, only the first are read.
  ///
  /// - Parameter limit: The maximum number of bytes to read.
  public static func bytes(of path: String, limit: Int) throws(SystemError) -> [UInt8] {
    // A pipe without a writer would make the process wait.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw SystemError(operation: "open", code: errno) }
    defer { close(descriptor) }
    return try bytes(of: descriptor, limit: limit)
  }

  /// The bytes of an open file or pipe until its end. If there are more than the limit, only the first are
  /// read.
  public static func bytes(of descriptor: Int32, limit: Int) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    while bytes.count < limit {
      let count = read(descriptor, &buffer, min(buffer.count, limit - bytes.count))
      let code = errno
      if count < 0, code == EINTR { continue }
      guard count >= 0 else { throw SystemError(operation: "read", code: code) }
      if count == 0 { break }
      bytes += buffer[..<count]
    }
    return bytes
  }
}

extension SystemError {
  /// Whether the path names no file: it does not exist, or it is a folder.
  public var isMissingFile: Bool { code == ENOENT || code == ENOTDIR || code == EISDIR }
}

extension SystemFile {
  /// Reads a file line by line, each with its line feed and its number from 1.
  ///
  /// - Parameter longest: The length from which an unfinished line is passed on, in bytes. A longer line
  ///   arrives in parts of at least that length. Of the zeros that a power cut leaves at the end of such a
  ///   part, one is passed on.
  public static func readLines(
    of path: String, longest: Int, _ body: (_ line: [UInt8], _ number: Int) -> Void
  ) throws(SystemError) {
    let number = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard number >= 0 else { throw SystemError(operation: "open", code: errno) }
    let descriptor = Descriptor(owning: number)
    var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    var line: [UInt8] = []
    var lineNumber = 1
    while true {
      let count = read(descriptor.number, &buffer, buffer.count)
      let code = errno
      if count < 0, code == EINTR { continue }
      guard count >= 0 else { throw SystemError(operation: "read", code: code) }
      if count == 0 { break }
      var start = 0
      while start < count {
        let end = buffer[start..<count].firstIndex(of: 0x0A).map { $0 + 1 } ?? count
        line += buffer[start..<end]
        start = end
        let isWhole = line.last == 0x0A
        guard isWhole || line.count >= longest else { continue }
        if !isWhole, line.last == 0 {
          line.removeLast((line.lastIndex { $0 != 0 }.map { line.count - $0 - 1 } ?? line.count) - 1)
          guard line.count >= longest else { continue }
        }
        body(line, lineNumber)
        line.removeAll(keepingCapacity: true)
        if isWhole { lineNumber += 1 }
      }
    }
    if !line.isEmpty { body(line, lineNumber) }
  }
}
