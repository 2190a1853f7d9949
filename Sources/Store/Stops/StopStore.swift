// The protocol for saved stops.

/// A store of stops, which make up the kill switch.
///
/// Changes by all instances run one after the other. A change that fails has no effect later. Its error is
/// `isInDoubt` if the change may have been made before it failed.
public protocol StopStore: Sendable {
  /// All stops.
  func stops() async throws(StoreError) -> StopSet

  /// Adds a stop. If the same target and action are already stopped, the earlier start and the later end
  /// apply.
  func stop(_ stop: Stop) async throws(StoreError)

  /// Ends the stop of exactly this target, for these actions.
  func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError)
}
