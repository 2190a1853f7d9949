// Prepares the process at startup: descriptor limit, standard streams, core dumps, SIGPIPE and memory
// allocator.

import CLinux
import Glibc

/// Functions that set up a server's process. Most are called once, at its start.
public enum ProcessSetup {
  /// The maximum number of descriptors that the process may open.
  public struct DescriptorLimit: Equatable, Sendable {
    /// The current limit.
    public let soft: Int
    /// The highest value to which the process may raise the soft limit.
    public let hard: Int
  }

  /// The limit on open descriptors (getrlimit(2), RLIMIT_NOFILE).
  public static func descriptorLimit() throws(SystemError) -> DescriptorLimit {
    var soft: UInt = 0
    var hard: UInt = 0
    guard callgate_get_descriptor_limit(&soft, &hard) == 0 else {
      throw SystemError(operation: "getrlimit", code: errno)
    }
    // RLIM_INFINITY is all ones.
    return DescriptorLimit(soft: Int(clamping: soft), hard: Int(clamping: hard))
  }

  /// Raises the soft limit on descriptors to the hard one and returns the new limit.
  @discardableResult
  public static func raiseDescriptorLimit() throws(SystemError) -> DescriptorLimit {
    let limit = try descriptorLimit()
    guard limit.soft < limit.hard else { return limit }
    let hard = limit.hard == .max ? UInt.max : UInt(limit.hard)
    guard callgate_set_descriptor_limit(hard, hard) == 0 else {
      throw SystemError(operation: "setrlimit", code: errno)
    }
    return try descriptorLimit()
  }

  /// Opens `/dev/null` in place of standard input, output and error if they are closed. Call it first.
  public static func openStandardDescriptors() { callgate_open_standard_descriptors(1) }

  /// Like `openStandardDescriptors`, but writing to an output that was closed still fails. Without an open
  /// descriptor in its place, a database file could get the number of that output, and then the text that is
  /// written to it.
  public static func occupyStandardDescriptors() { callgate_open_standard_descriptors(0) }

  /// Keeps keys and tokens out of core files and from other processes of the same user.
  public static func protectMemory() throws(SystemError) {
    guard callgate_protect_memory() == 0 else { throw SystemError(operation: "prctl", code: errno) }
  }

  /// Makes writing to a closed connection an error instead of the end of the process.
  public static func ignoreBrokenPipes() { _ = callgate_ignore_sigpipe() }

  /// Makes the allocator return every block of 256 KiB or more to the system once it is freed.
  ///
  /// glibc raises that size to the largest block it has seen freed (mallopt(3), M_MMAP_THRESHOLD) and keeps
  /// such blocks. A process whose log was not read for a moment stayed 8 MiB larger for good.
  public static func returnLargeBlocks() { _ = callgate_set_mmap_threshold(256 * 1024) }

  /// Returns the memory of freed blocks to the system, which the allocator otherwise keeps for later. Takes
  /// some milliseconds.
  public static func returnFreeBlocks() { _ = callgate_trim_memory() }

  /// Makes the allocator join small free blocks when they are freed, and not all of them whenever a large
  /// block is requested.
  ///
  /// For a request to Talkdesk, libcurl allocates several blocks of a kilobyte and more. Each made glibc walk
  /// through its fast bins: that was 7% of a callback's processor time. Threads' own caches, which come
  /// first, stay as they are.
  public static func joinFreeBlocks() { _ = callgate_forgo_fast_bins() }

  /// The number of processors that the process may use.
  public static var processorCount: Int { Int(callgate_processor_count()) }
}
