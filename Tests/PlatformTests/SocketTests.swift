// Tests of TCP sockets and descriptors on a real kernel.

import Glibc
import Testing

@testable import Platform

private let loopback = SocketAddress(IPAddress(v4: 0x7F00_0001), port: 0)

private struct Accepted: ~Copyable {
  let socket: StreamSocket
  let peer: SocketAddress
}

private func accept(_ listener: borrowing ListeningSocket) throws -> Accepted {
  for _ in 0..<10_000 {
    switch listener.accept() {
    case .connection(let socket, let peer): return Accepted(socket: socket, peer: peer)
    case .none: sched_yield()
    case .failed(let error): throw error
    }
  }
  throw SystemError(operation: "accept", code: ETIMEDOUT)
}

private func read(_ socket: borrowing StreamSocket, _ buffer: inout [UInt8]) -> StreamSocket.Transfer {
  while true {
    let transfer = socket.receive(into: &buffer)
    guard transfer == .wouldBlock else { return transfer }
    sched_yield()
  }
}

@Test func `bytes go both ways, and the end of one side is seen by the other`() throws {
  let listener = try ListeningSocket(address: loopback, sharesPort: false)
  let address = try listener.boundAddress()
  #expect(address.port != 0)
  let client = try StreamSocket(connectedTo: address)
  let accepted = try accept(listener)
  #expect(accepted.peer.address == address.address)
  var buffer = [UInt8](repeating: 0, count: 8)
  #expect(accepted.socket.receive(into: &buffer) == .wouldBlock)
  #expect(client.send(Array("hello".utf8)) == .bytes(5))
  #expect(read(accepted.socket, &buffer) == .bytes(5))
  #expect(buffer[..<5].elementsEqual("hello".utf8))
  #expect(accepted.socket.send(Array("answer".utf8), from: 3) == .bytes(3))
  #expect(read(client, &buffer) == .bytes(3))
  #expect(buffer[..<3].elementsEqual("wer".utf8))
  client.finishWriting()
  #expect(read(accepted.socket, &buffer) == .bytes(0))
}

@Test func `writing to a reset connection is an error and not the end of the process`() throws {
  let listener = try ListeningSocket(address: loopback, sharesPort: false)
  let address = try listener.boundAddress()
  do {
    let client = try StreamSocket(connectedTo: address)
    client.resetOnClose()
  }
  let accepted = try accept(listener)
  var buffer = [UInt8](repeating: 0, count: 8)
  guard case .failed(let error) = read(accepted.socket, &buffer) else {
    Issue.record("the reset was not seen")
    return
  }
  #expect(error == SystemError(operation: "recv", code: ECONNRESET))
  guard case .failed(let broken) = accepted.socket.send([1]) else {
    Issue.record("the broken pipe was not seen")
    return
  }
  #expect(broken == SystemError(operation: "send", code: EPIPE))
}

@Test func `a connection has the options its listener was given`() throws {
  let listener = try ListeningSocket(address: loopback, sharesPort: false)
  let client = try StreamSocket(connectedTo: try listener.boundAddress())
  let accepted = try accept(listener)
  let number = accepted.socket.descriptor.number
  let tcp = Int32(IPPROTO_TCP)
  #expect(SocketOption.get(number, tcp, TCP_NODELAY) == 1)
  #expect(SocketOption.get(number, SOL_SOCKET, SO_KEEPALIVE) == 1)
  #expect(SocketOption.get(number, tcp, TCP_KEEPIDLE) == 60)
  #expect(SocketOption.get(number, tcp, TCP_KEEPINTVL) == 10)
  #expect(SocketOption.get(number, tcp, TCP_KEEPCNT) == 3)
  #expect(SocketOption.get(number, tcp, TCP_USER_TIMEOUT) == 30_000)
  #expect(SocketOption.get(number, SOL_SOCKET, SO_SNDBUF) == 262_144)
  #expect(fcntl(number, F_GETFL) & O_NONBLOCK != 0)
  #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
  // A connection that was not accepted does not have these options.
  #expect(SocketOption.get(client.descriptor.number, SOL_SOCKET, SO_KEEPALIVE) == 0)
}

@Test func `a taken port is refused, also where SO_REUSEPORT would hide it`() throws {
  let first = try ListeningSocket(address: loopback, sharesPort: true)
  let address = try first.boundAddress()
  let second = try ListeningSocket(address: address, sharesPort: true)
  #expect(try second.boundAddress() == address)
  let error = #expect(throws: SystemError.self) { try ListeningSocket.probe(address) }
  #expect(error?.isAddressInUse == true)
  #expect(error?.description == "bind: Address already in use (\(EADDRINUSE))")
  #expect(throws: SystemError.self) { _ = try ListeningSocket(address: address, sharesPort: false) }
}

@Test func `an IPv6 wildcard takes IPv4 connections and reports their address as IPv4`() throws {
  let listener = try ListeningSocket(
    address: try #require(SocketAddress(host: "::", port: 0)), sharesPort: false)
  let port = try listener.boundAddress().port
  let client = try StreamSocket(connectedTo: SocketAddress(IPAddress(v4: 0x7F00_0001), port: port))
  let accepted = try accept(listener)
  #expect(accepted.peer.address.description == "127.0.0.1")
  _ = consume client
  let six = try StreamSocket(connectedTo: try #require(SocketAddress(host: "::1", port: port)))
  let sixAccepted = try accept(listener)
  #expect(sixAccepted.peer.address.description == "::1")
  _ = consume six
}

@Test func `a descriptor closes exactly once, when its owner ends`() throws {
  let number: Int32
  do {
    number = open("/dev/null", O_RDONLY)
    #expect(fcntl(number, F_GETFD) >= 0)
    let owner = Descriptor(owning: number)
    #expect(owner.number == number)
  }
  #expect(fcntl(number, F_GETFD) == -1)
}

@Test func `no descriptor limit is above the hard one`() throws {
  let limit = try ProcessSetup.raiseDescriptorLimit()
  #expect(limit.soft == limit.hard)
  #expect(try ProcessSetup.descriptorLimit() == limit)
}

@Test func `an error says which call failed and why`() {
  let error = SystemError(operation: "accept", code: EMFILE)
  #expect(error.description == "accept: Too many open files (\(EMFILE))")
  #expect(error.isOutOfDescriptors)
  #expect(!error.isAddressInUse)
}
