// The protocol for a filter such as TLS between a connection and its socket.

/// The layer between a connection's octets and the network's: TLS, or none in the clear.
///
/// It is called on the connection's loop only.
public protocol StreamFilter: AnyObject {
  /// Whether both sides have agreed, so that data may flow. Until then the connection counts as a handshake, of which there
  /// may be few.
  var isEstablished: Bool { get }
  /// Takes octets from the network; appends what they mean to `plain`, and what must go back (a handshake, an alert) to
  /// `wire`.
  func receive(_ octets: Span<UInt8>, plain: inout [UInt8], wire: inout [UInt8]) -> StreamFilterState
  /// Takes octets of the connection; appends their form on the wire. Before the client has sent anything there is nothing
  /// to say: what is not allowed on the wire yet is dropped.
  func send(_ plain: [UInt8], wire: inout [UInt8])
  /// Appends what says that nothing more is sent: TLS's `close_notify`.
  func finish(wire: inout [UInt8])
}

/// The state of a filter after it took octets from the network.
public enum StreamFilterState: Sendable {
  /// More may come.
  case open
  /// The client ended its side.
  case ended
  /// The octets make no sense; what was appended to `wire` is sent, then the connection ends.
  case failed
  /// The octets are HTTP without the filter. The server responds in the clear, then closes the connection.
  case clear
}
