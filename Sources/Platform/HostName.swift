// The name of this machine, by which operators tell instances apart.

/// The name of the machine or container that the process runs on.
public enum HostName {
  /// The machine's name as the kernel reports it (proc(5)) at the first use; `unknown` if it cannot be read.
  public static let current: String = {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try SystemFile.bytes(of: "/proc/sys/kernel/hostname", limit: 256)
    } catch {
      return "unknown"
    }
    let name = bytes.prefix { (0x21...0x7E).contains($0) }
    return name.isEmpty ? "unknown" : String(decoding: name, as: UTF8.self)
  }()
}
