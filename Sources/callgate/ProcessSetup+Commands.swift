// Keeps a command's secrets out of core dumps.

import Platform

extension ProcessSetup {
  /// Keeps the command's secrets out of core dumps. If that fails, ends the command.
  static func protectSecrets() throws {
    do throws(SystemError) {
      try protectMemory()
    } catch {
      Output.message("callgate: \(error)")
      throw ExitStatus.internal.exit
    }
  }
}
