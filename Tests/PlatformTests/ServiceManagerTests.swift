// Tests of the messages that systemd receives about the server's state.

import Glibc
import Testing

@testable import Platform

/// A socket for Unix datagrams, like systemd's.
private final class Inbox {
  private let descriptor: Descriptor

  /// - Parameter name: a path, or a NUL and a name.
  init(_ name: [UInt8]) throws {
    let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    guard number >= 0 else { throw SystemError(operation: "socket", code: errno) }
    descriptor = Descriptor(owning: number)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let size = MemoryLayout.offset(of: \sockaddr_un.sun_path)! + name.count
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, socklen_t(size)) }
    }
    guard result == 0 else { throw SystemError(operation: "bind", code: errno) }
  }

  /// The next datagram; nil if there is none.
  func next() -> String? {
    var buffer = [UInt8](repeating: 0, count: 512)
    let count = recv(descriptor.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
  }
}

@Suite struct ServiceManagerTests {
  @Test func `a manager behind a path gets one datagram each`() throws {
    let path = "/tmp/callgate-notify-\(getpid())"
    unlink(path)
    defer { unlink(path) }
    let inbox = try Inbox(Array(path.utf8))
    let manager = try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": path]))
    try manager.tell(.ready)
    try manager.tell(.stopping)
    #expect(inbox.next() == "READY=1")
    #expect(inbox.next() == "STOPPING=1")
    #expect(inbox.next() == nil)
  }

  @Test func `a manager behind an abstract name gets it`() throws {
    let name = "callgate-notify-\(getpid())"
    let inbox = try Inbox([0] + Array(name.utf8))
    try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": "@\(name)"])).tell(.ready)
    #expect(inbox.next() == "READY=1")
  }

  @Test func `a reload says when, on the monotonic clock`() throws {
    let name = "callgate-reload-\(getpid())"
    let inbox = try Inbox([0] + Array(name.utf8))
    var before = timespec()
    clock_gettime(CLOCK_MONOTONIC, &before)
    try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": "@\(name)"])).tell(.reloading)
    var after = timespec()
    clock_gettime(CLOCK_MONOTONIC, &after)
    let lines = try #require(inbox.next()).split(separator: "\n")
    #expect(lines.first == "RELOADING=1")
    let time = try #require(lines.last?.split(separator: "=").last.flatMap { Int64($0) })
    #expect(lines.last?.hasPrefix("MONOTONIC_USEC=") == true)
    #expect(time >= Int64(before.tv_sec) * 1_000_000 + Int64(before.tv_nsec) / 1000)
    #expect(time <= Int64(after.tv_sec) * 1_000_000 + Int64(after.tv_nsec) / 1000)
  }

  @Test(arguments: [[:], ["NOTIFY_SOCKET": ""]])
  func `without NOTIFY_SOCKET there is no manager`(environment: [String: String]) throws {
    #expect(try ServiceManager(environment: environment) == nil)
  }

  @Test(arguments: ["vsock:2:1234", "relative", "@", "/", "/a\0b"])
  func `what is no Unix socket is refused`(text: String) {
    #expect(throws: SystemError(operation: "NOTIFY_SOCKET", code: EINVAL)) {
      try ServiceManager(environment: ["NOTIFY_SOCKET": text])
    }
  }

  @Test func `a name of 107 bytes is taken, one of 108 is not`() throws {
    #expect(
      try ServiceManager(environment: ["NOTIFY_SOCKET": "/" + String(repeating: "a", count: 106)]) != nil)
    #expect(throws: SystemError(operation: "NOTIFY_SOCKET", code: ENAMETOOLONG)) {
      try ServiceManager(environment: ["NOTIFY_SOCKET": "/" + String(repeating: "a", count: 107)])
    }
  }

  @Test func `a manager that is gone is an error, not the end`() throws {
    let manager = try #require(
      try ServiceManager(environment: ["NOTIFY_SOCKET": "@callgate-nobody-\(getpid())"]))
    #expect(throws: SystemError(operation: "sendto", code: ECONNREFUSED)) { try manager.tell(.ready) }
  }
}
