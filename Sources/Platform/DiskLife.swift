// Determines whether a file will survive its container, so that the server can warn about a store that will
// not.

import Glibc

/// The expected lifetime of a file, as far as the kernel's table of mounts shows it: files in a container's
/// own layer, in an unnamed volume or in memory are lost earlier than operators expect.
public enum DiskLife: Sendable, Hashable {
  /// Nothing shows that the file will be lost.
  case lasting
  /// The writable layer of a container: gone with the container.
  case containerLayer
  /// A volume without a name of its own, which its engine named by 64 hexadecimal digits. A new container
  /// gets another one.
  case unnamedVolume
  /// A file system in memory: gone with the machine or the container.
  case memory
  /// The folder of the file does not exist.
  case missing

  /// Determines where a file is, or would be. If that is not possible, the file counts as lasting: the result
  /// is for a warning, not for a decision.
  ///
  /// - Parameter path: the file's path, absolute or from the working directory; the file need not exist.
  public static func ofFile(_ path: String) -> DiskLife {
    guard let folder = resolved(folder(of: path)) else { return errno == ENOENT ? .missing : .lasting }
    return DiskLife(folder: folder, mountInfo: mountInfo())
  }

  /// Reads proc(5)'s `mountinfo`: the file system of a folder is that of the longest mount point above it. If
  /// several were mounted over each other, the last one counts.
  ///
  /// - Parameter folder: an absolute path without symbolic links, `.` and `..`.
  init(folder: String, mountInfo: String) {
    var best: (point: String, root: String, type: Substring)?
    for line in mountInfo.split(separator: "\n") {
      // 36 35 98:0 /root /point options optional… - type source options
      let fields = line.split(separator: " ")
      guard fields.count >= 10, let dash = fields.dropFirst(6).firstIndex(of: "-"), dash + 1 < fields.count
      else { continue }
      let point = Self.unescaped(fields[4])
      guard point == "/" || folder == point || folder.hasPrefix(point + "/") else { continue }
      if let best, best.point.utf8.count > point.utf8.count { continue }
      best = (point, Self.unescaped(fields[3]), fields[dash + 1])
    }
    switch best?.type {
    case "overlay", "fuse.fuse-overlayfs", "aufs": self = .containerLayer
    case "tmpfs", "ramfs": self = .memory
    default: self = best.map { Self.isUnnamedVolume($0.root) } == true ? .unnamedVolume : .lasting
    }
  }

  /// Whether a mount's root is that of an unnamed volume. Docker and podman: `…/volumes/<64 digits>/_data`;
  /// containerd for Kubernetes: `…/volumes/<64 digits>`.
  private static func isUnnamedVolume(_ root: String) -> Bool {
    var steps = root.split(separator: "/")
    if steps.last == "_data" { steps.removeLast() }
    guard let name = steps.popLast(), steps.last == "volumes" else { return false }
    return name.utf8.count == 64 && name.allSatisfy { $0.isHexDigit && $0.isASCII && !$0.isUppercase }
  }

  /// Decodes a field, in which blanks, tabs, line ends and backslashes are `\` and three octal digits.
  private static func unescaped(_ field: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(field.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3,
        let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
      {
        bytes.append(code)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The kernel's table of mounts, which may be long; empty if it cannot be read.
  private static func mountInfo() -> String {
    String(
      decoding: (try? SystemFile.bytes(of: "/proc/self/mountinfo", limit: 1 << 20)) ?? [], as: UTF8.self)
  }

  private static func resolved(_ path: String) -> String? {
    guard let pointer = realpath(path, nil) else { return nil }
    defer { free(pointer) }
    return String(cString: pointer)
  }
}
