// Runs an emulator on a loopback port and stops it.

import HTTPServer
public import Platform

/// A running emulator on its own loopback port.
public final class SandboxServer: Sendable {
  /// The emulator, for `SandboxFront` to put in front of a gateway.
  public let emulator: Emulator
  /// The port on 127.0.0.1.
  public let port: UInt16
  private let server: Server
  private let loops: EventLoopGroup

  /// Starts an emulator on 127.0.0.1 and binds it to that address.
  ///
  /// - Parameters:
  ///   - emulator: The emulator that responds.
  ///   - port: The port; 0 lets the system choose.
  ///   - loops: How many event loops serve it.
  /// - Throws: If the port is taken or the system has no sockets.
  public init(_ emulator: Emulator, port: UInt16 = 0, loops: Int = 1) throws(SystemError) {
    let group = try EventLoopGroup(count: loops)
    let server = Server(
      .address(SocketAddress(IPAddress(v4: 0x7F00_0001), port: port)), loops: group, handler: emulator,
      clock: emulator.clock)
    let bound: SocketAddress
    do throws(SystemError) {
      bound = try server.start()
    } catch {
      group.shutdown()
      throw error
    }
    emulator.bind(to: "http://127.0.0.1:\(bound.port)")
    self.emulator = emulator
    self.port = bound.port
    self.server = server
    self.loops = group
  }

  /// The emulator's base URL: `http://127.0.0.1:PORT`.
  public var baseURL: String { "http://127.0.0.1:\(port)" }

  /// Stops the emulator. Running requests have one second to finish.
  public func stop() async {
    await server.shutdown(within: .seconds(1))
    loops.shutdown()
  }
}
