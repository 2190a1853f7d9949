// The protocol for the saved stops of the kill switch.

/// A store of the stops that make up the kill switch.
///
/// Changes by all instances run one after the other. A change that fails has no effect later. Its error is
/// `isInDoubt` if the change may have been made before it failed.
public protocol StopStore: Sendable {
  /// All stops, including those that have ended and were not purged yet.
  func stops() async throws(StoreError) -> StopSet

  /// Adds a stop, or joins it with the stop of the same target and action (`Stop.joined`).
  func stop(_ stop: Stop) async throws(StoreError)

  /// Ends the stop of exactly this target, for these actions.
  func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError)
}
