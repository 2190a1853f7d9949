// The protocol for a filter such as TLS between a connection and its socket.

/// A layer such as TLS between a connection's octets and the network's. A connection in the clear has none.
///
/// A filter is called on its connection's loop only.
public protocol StreamFilter: AnyObject {
  /// Whether the handshake is finished, so that data may flow. Until then, the connection counts toward the
  /// limit on handshakes.
  var isEstablished: Bool { get }
  /// The memory, in octets, of input that the filter cannot pass on yet, such as a part of a record.
  var heldOctets: Int { get }
  /// Reads octets from the network. Appends their plain form to `plain`, and octets for the client (a
  /// handshake, an alert) to `wire`.
  func receive(_ octets: Span<UInt8>, plain: inout [UInt8], wire: inout [UInt8]) -> StreamFilterState
  /// Appends the connection's octets to `wire` in the form for the network. Octets that cannot be sent yet,
  /// because the handshake is not finished, are dropped.
  func send(_ plain: [UInt8], wire: inout [UInt8])
  /// Appends the end of the stream: TLS's `close_notify`.
  func finish(wire: inout [UInt8])
}

/// The state of a filter after `receive`.
public enum StreamFilterState: Sendable {
  /// More octets may arrive.
  case open
  /// The client ended its side.
  case ended
  /// The octets are invalid. The server sends `wire`, then ends the connection.
  case failed
  /// The octets are HTTP without the filter. The server responds in the clear, then closes the connection.
  case clear
}
