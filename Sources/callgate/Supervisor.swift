// Reports the server's state to systemd, if systemd started it.

import Platform

/// Whoever started the server and wants to know how it does: systemd, or nobody.
struct Supervisor: Sendable {
  private let manager: ServiceManager?

  /// Whoever the environment names.
  init(_ environment: [String: String]) throws {
    do throws(SystemError) {
      manager = try ServiceManager(environment: environment)
    } catch {
      Output.message("callgate: NOTIFY_SOCKET: is not the path of a Unix socket; correct it, or unset it")
      throw ExitStatus.configuration.exit
    }
  }

  /// Tells it; where that fails it is said on stderr, and serving goes on.
  func tell(_ news: ServiceManager.News) {
    do throws(SystemError) {
      try manager?.tell(news)
    } catch {
      Output.message("callgate: NOTIFY_SOCKET: \(error)")
    }
  }
}
