// The protocol for saved stops.

/// A store of the kill switch.
public protocol StopStore: Sendable {
  /// All that is stopped.
  func stops() async throws(StoreError) -> StopSet

  /// Stops something; a stop that is there already keeps its time, and the later end of the two.
  func stop(_ stop: Stop) async throws(StoreError)

  /// Ends the stop of exactly this target, for these actions.
  func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError)
}
