// The write-ahead log of an SQLite file, as far as bringing it to the disk goes.

internal import Glibc
internal import Platform

/// The log beside a database that one of our connections has open, under a descriptor of its own: flushing it needs neither
/// the connection nor its queue, so transactions go on meanwhile. Only `SQLiteFlusher` flushes it, once at a time: of two
/// that flush one descriptor, the kernel tells only one that it failed.
///
/// Not the database's own file: a descriptor of that, once closed, would end SQLite's locks on it (fcntl(2)). The log has none.
final class SQLiteLog: Sendable {
  /// Flushes a descriptor's file; gives 0 or errno's value.
  typealias Flush = @Sendable (Int32) -> Int32

  private let descriptor: Descriptor
  private let call: Flush

  /// fdatasync(2).
  static let dataSync: Flush = { descriptor in
    while true {
      guard fdatasync(descriptor) != 0 else { return 0 }
      let code = errno
      guard code == EINTR else { return code }
    }
  }

  /// Opens the log beside a database, which is there as long as a connection has had a transaction.
  init(beside database: String, flush: @escaping Flush) throws(StoreError) {
    let path = try SQLiteFile.real(database) + "-wal"
    let number = open(path, O_RDWR | O_CLOEXEC)
    guard number >= 0 else {
      throw StoreError(
        .unavailable, "open the log", "\(SystemError(operation: "open \(path)", code: errno))")
    }
    descriptor = Descriptor(owning: number)
    call = flush
  }

  /// Waits until the disk has everything that was committed before. What a failed flush should have brought there may be lost
  /// though later ones succeed (fsync(2)).
  func flush() throws(StoreError) {
    let code = call(descriptor.number)
    guard code != 0 else { return }
    let kind: StoreError.Kind = code == ENOSPC || code == EDQUOT ? .full : .unavailable
    throw StoreError(kind, "flush", "\(SystemError(operation: "fdatasync", code: code))", isInDoubt: true)
  }
}
