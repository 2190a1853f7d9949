// The protocol for a filter such as TLS between a connection and its socket.

/// The layer between a connection's octets and the network's: TLS, or none in the clear.
///
/// It is called on the connection's loop only.
public protocol StreamFilter: AnyObject {
  /// Whether both sides have agreed, so that data may flow. Until then the connection counts as a handshake, of which there
  /// may be few.
  var isEstablished: Bool { get }
  /// The memory of octets from the network that it cannot pass on yet, such as a part of a record.
  var heldOctets: Int { get }
  /// Takes octets from the network. Appends their plain form to `plain`, and octets for the client (a handshake, an alert) to `wire`.
  func receive(_ octets: Span<UInt8>, plain: inout [UInt8], wire: inout [UInt8]) -> StreamFilterState
  /// Takes octets of the connection, and appends their form on the wire. Octets that the wire does not allow yet, before the client
  /// has sent anything, are dropped.
  func send(_ plain: [UInt8], wire: inout [UInt8])
  /// Appends the end of the stream: TLS's `close_notify`.
  func finish(wire: inout [UInt8])
}

/// The state of a filter after it took octets from the network.
public enum StreamFilterState: Sendable {
  /// More may come.
  case open
  /// The client ended its side.
  case ended
  /// The octets are invalid. The server sends `wire`, then ends the connection.
  case failed
  /// The octets are HTTP without the filter. The server responds in the clear, then closes the connection.
  case clear
}
