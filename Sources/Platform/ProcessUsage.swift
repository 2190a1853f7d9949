// Reads how much CPU time, memory and how many descriptors this process uses.

import Glibc

/// The process's use of resources, as the kernel counts it. Unknown values are 0.
public struct ProcessUsage: Sendable {
  /// User and system time of all threads.
  public var cpuSeconds: Double
  /// Memory that is in RAM.
  public var residentBytes: Int
  /// Memory in the address space.
  public var virtualBytes: Int
  /// Descriptors that are open.
  public var openDescriptors: Int
  /// The current limit on open descriptors.
  public var maximumDescriptors: Int
  /// The start time of the process, in seconds since 1970.
  public var startTime: Double

  /// Reads the usage now: clock_gettime(2), getrlimit(2) and proc(5). Takes some microseconds, and more with
  /// thousands of descriptors.
  public static func now() -> ProcessUsage {
    var time = timespec()
    _ = clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    let pages = fields(ofFile: "/proc/self/statm")
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    return ProcessUsage(
      cpuSeconds: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9,
      residentBytes: (pages.count > 1 ? Int(pages[1]) ?? 0 : 0) * page,
      virtualBytes: (pages.first.flatMap { Int($0) } ?? 0) * page,
      openDescriptors: openDescriptorCount(),
      // A limit that cannot be read is 0.
      maximumDescriptors: (try? ProcessSetup.descriptorLimit().soft) ?? 0,
      startTime: start)
  }

  /// The start time, read once: a wall clock that is set later does not move it.
  private static let start: Double = {
    // The second field is the program's name in parentheses and may hold anything; the start is the 22nd.
    let text = contents(ofFile: "/proc/self/stat")
    guard let end = text.lastIndex(of: ")") else { return 0 }
    let fields = text[text.index(after: end)...].split(separator: " ")
    guard fields.count > 19, let ticks = Double(fields[19]) else { return 0 }
    let clock = SystemClock()
    let (now, sinceBoot) = (clock.unixTime, Double(clock.now.nanoseconds) / 1e9)
    let age = sinceBoot - ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    return Double(now.seconds) + Double(now.nanoseconds) / 1e9 - age
  }()

  private static func openDescriptorCount() -> Int {
    guard let directory = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    // `.`, `..` and the descriptor that reads the directory.
    return max(0, count - 3)
  }

  private static func fields(ofFile path: String) -> [Substring] {
    contents(ofFile: path).split { $0 == " " || $0 == "\n" }
  }

  /// A short file of proc(5); empty if it cannot be read.
  private static func contents(ofFile path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &buffer, buffer.count)
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }
}
