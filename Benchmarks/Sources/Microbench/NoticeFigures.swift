// Measures how fast notices go to APNs over one HTTP/2 connection.

import HTTP
import JOSE
import Notices
import Platform
import Upstream

#if canImport(Glibc)
  import Glibc
#endif

/// Sending notices to the HTTP/2 server that `NOTICES_URL` names, whose certificate stands in the file `NOTICES_AUTHORITY`.
enum NoticeFigures {
  /// How many are on their way at once: as many streams as the server allows.
  private static let atOnce = 100

  /// Why nothing was measured.
  private struct Unmeasured: Error {
    let reason: String
  }

  /// Notices per second of real time, each with its own id and all of its fields.
  static func apns(seconds: Double) throws -> [Figure] {
    guard let url = getenv("NOTICES_URL"), let authority = getenv("NOTICES_AUTHORITY") else {
      throw Unmeasured(reason: "NOTICES_URL and NOTICES_AUTHORITY name no server")
    }
    let clock = SystemClock()
    let settings = try APNsSettings(
      key: try PrivateKey.generate(for: .ES256).pem().exposedBytes(), keyID: "BENCHMARKS",
      teamID: "BENCHMARKS",
      topic: "com.example.shop", url: String(cString: url))
    let transport = try CurlTransport(
      TransportSettings(
        authorities: .file(String(cString: authority)), verifiesLoopback: true, proxies: .direct,
        multiplexing: Multiplexing()))
    let sender = APNsSender(settings, transport: transport, connect: { nil }, time: clock)
    guard let device = DeviceAddress(String(repeating: "a1", count: 32), platform: .apns) else {
      preconditionFailure("64 hexadecimal digits")
    }
    let waiter = Waiter<Double>()
    Task {
      do {
        _ = try await send(by: sender, to: device, for: .milliseconds(200), clock)
        waiter.end(.success(try await send(by: sender, to: device, for: .seconds(seconds), clock)))
      } catch { waiter.end(.failure(error)) }
    }
    let rate = try waiter.result()
    return [.perSecond("notices by APNs over one connection", rate: rate)]
  }

  private static func send(
    by sender: APNsSender, to device: DeviceAddress, for span: Duration, _ clock: SystemClock
  ) async throws -> Double {
    let start = clock.now
    let sent = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<atOnce {
        group.addTask {
          var sent = 0
          while clock.now - start < span {
            let text = String(10_000_000_000 + number * 100_000_000 + sent)
            guard let id = NoticeID(String(repeating: "N", count: NoticeID.length - text.utf8.count) + text)
            else {
              preconditionFailure("letters and digits")
            }
            let notice = Notice(
              id: id, action: .confirm, text: "May we call you now?",
              ends: UnixTime(seconds: clock.unixTime.seconds + 60))
            var posts = NoticePosts()
            let verdict = await sender.send(
              notice, to: device, deadline: clock.now + .seconds(5), posts: &posts)
            guard verdict == .taken else { throw Unmeasured(reason: "\(verdict)") }
            sent += 1
          }
          return sent
        }
      }
      return try await group.reduce(0, +)
    }
    return Double(sent) / ((clock.now - start) / .seconds(1))
  }
}
