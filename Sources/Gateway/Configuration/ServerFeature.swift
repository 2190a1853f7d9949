/// Parts of the server that a setting may rely on for security. A setting whose part is missing must stop the start:
/// to ignore it silently would open what the operator closed.
public enum ServerFeature: String, Sendable, CaseIterable {
  /// Speaking TLS.
  case tls
  /// Believing `X-Forwarded-For` from named proxies.
  case trustedProxies
  /// HTTP Basic callers.
  case basicCallers
  /// API key callers.
  case apiKeyCallers
  /// JWT callers.
  case jwtCallers
  /// Apps: their callers, scopes and numbers.
  case apps
  /// What the context of callbacks may carry.
  case contextSchemas
  /// State in a file.
  case sqlite
  /// State in a shared database.
  case postgres

  /// What this version does.
  public static let built: Set<ServerFeature> = [
    .apiKeyCallers, .apps, .basicCallers, .contextSchemas, .jwtCallers, .postgres, .sqlite, .tls,
    .trustedProxies,
  ]
}
