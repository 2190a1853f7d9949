// Keeps a command's secrets out of core dumps.

import Platform

extension ProcessSetup {
  /// Keeps secrets that a command holds out of core files, or ends it.
  static func protectSecrets() throws {
    do throws(SystemError) {
      try protectMemory()
    } catch {
      Output.message("callgate: \(error)")
      throw ExitStatus.internal.exit
    }
  }
}
