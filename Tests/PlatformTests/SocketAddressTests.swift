// Tests of how hosts are read as socket addresses.

import Platform
import Testing

@Test(arguments: [
  ("192.0.2.1", 80, "192.0.2.1:80"), ("2001:db8::1", 65535, "[2001:db8::1]:65535"),
  ("localhost", 0, "127.0.0.1:0"), ("[::]", 8080, "[::]:8080"), ("[::ffff:192.0.2.1]", 1, "192.0.2.1:1"),
]) func `a socket address is written with its port`(host: String, port: UInt16, text: String) throws {
  #expect(try #require(SocketAddress(host: host, port: port)).description == text)
}

@Test func `a host is an address in any spelling, or localhost`() throws {
  #expect(SocketAddress(host: "::1", port: 1) == SocketAddress(host: "[::1]", port: 1))
  #expect(try #require(SocketAddress(host: "0.0.0.0", port: 8080)).port == 8080)
  #expect(SocketAddress(host: "localhost", port: 1)?.address.isLoopback == true)
  #expect(SocketAddress(host: "a.example", port: 1) == nil)
}
