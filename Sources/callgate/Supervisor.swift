// Reports the server's state to systemd, if systemd started it.

import Platform

/// The service manager that started the server, if there is one: systemd.
struct Supervisor: Sendable {
  private let manager: ServiceManager?

  /// The manager that the environment names.
  init(_ environment: [String: String]) throws {
    do throws(SystemError) {
      manager = try ServiceManager(environment: environment)
    } catch {
      Output.message("callgate: NOTIFY_SOCKET: is not the path of a Unix socket; correct it, or unset it")
      throw ExitStatus.configuration.exit
    }
  }

  /// Reports news to the service manager. A failure is printed on stderr, and the server continues.
  func tell(_ news: ServiceManager.News) {
    do throws(SystemError) {
      try manager?.tell(news)
    } catch {
      Output.message("callgate: NOTIFY_SOCKET: \(error)")
    }
  }
}
