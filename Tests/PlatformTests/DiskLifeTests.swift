// Tests of how the server recognizes a disk that disappears with its container.

import Foundation
import Testing

@testable import Platform

struct DiskLifeTests {
  static let digits = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"

  /// A container's mounts: its own layer, a named volume, two unnamed volumes, a folder of the host, and
  /// memory.
  static let container = """
    612 587 0:51 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
    613 612 0:60 / /proc rw,nosuid - proc proc rw
    614 612 254:1 /var/lib/docker/volumes/callgate/_data /named rw,relatime - ext4 /dev/vda1 rw
    615 612 254:1 /var/lib/docker/volumes/\(digits)/_data /unnamed rw,relatime - ext4 /dev/vda1 rw
    616 612 254:1 /containerd/containers/\(digits)/volumes/\(digits) /cri rw,relatime master:7 shared:2 - xfs /dev/vda1 rw
    617 612 254:1 /srv/call\\040gate /host\\040folder rw,relatime - ext4 /dev/vda1 rw
    618 612 0:70 / /tmp rw - tmpfs tmpfs rw
    619 618 254:1 /kept /tmp/kept rw - ext4 /dev/vda1 rw
    620 612 254:1 /volumes/\(digits)/_data /over rw - ext4 /dev/vda1 rw
    621 620 254:1 /kept /over rw - ext4 /dev/vda1 rw
    a line that is none
    """

  @Test(arguments: [
    ("/", DiskLife.containerLayer), ("/data", .containerLayer), ("/named", .lasting),
    ("/named/below", .lasting),
    ("/namedalike", .containerLayer), ("/unnamed", .unnamedVolume), ("/unnamed/below", .unnamedVolume),
    ("/cri", .unnamedVolume), ("/host folder", .lasting), ("/tmp", .memory), ("/tmp/x", .memory),
    ("/tmp/kept", .lasting), ("/over", .lasting),
  ])
  func `the longest mount point above a folder says how long it lasts`(folder: String, life: DiskLife) {
    #expect(DiskLife(folder: folder, mountInfo: Self.container) == life)
  }

  @Test(arguments: [
    "", "612 587 0:51 / / rw - ext4 /dev/vda rw", "612 587 0:51 /volumes/abc/_data / rw - ext4 /dev/vda rw",
    "612 587 0:51 / / rw", "1 2 3 /volumes/\(String(repeating: "g", count: 64)) / rw - ext4 x y",
  ])
  func `what is unknown or named counts as lasting`(mountInfo: String) {
    #expect(DiskLife(folder: "/data", mountInfo: mountInfo) == .lasting)
  }

  @Test func `the kernel's own table is read, for files that do not exist yet and through links`() throws {
    try #require(DiskLife.ofFile("/dev/shm/none") == .memory, "no tmpfs at /dev/shm")
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "disk-life-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // what is left of it harms nobody
    let link = folder.appendingPathComponent("link").path
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/shm")
    #expect(DiskLife.ofFile(link + "/none") == .memory)
    #expect(DiskLife.ofFile("/proc/none/none") == .missing)
    #expect(DiskLife.ofFile("/proc/self/status/none") == .lasting)
  }
}
