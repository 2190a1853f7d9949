// The protocol for saved stops.

/// A store of the kill switch.
///
/// Of two changes, in whatever instance, one comes wholly after the other. A change that fails changes nothing later. It is `isInDoubt` if it
/// may have been made before it failed.
public protocol StopStore: Sendable {
  /// All that is stopped.
  func stops() async throws(StoreError) -> StopSet

  /// Stops something; a stop that is there already keeps its time, and the later end of the two.
  func stop(_ stop: Stop) async throws(StoreError)

  /// Ends the stop of exactly this target, for these actions.
  func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError)
}
