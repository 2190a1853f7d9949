// Starts an emulator with one registered client, and returns the environment variables that connect a gateway
// to it.

public import JOSE
public import Platform

/// A complete emulated Talkdesk for one gateway: a running emulator, its registered client, and the
/// environment variables that connect a gateway as this client.
public struct LocalTalkdesk: Sendable {
  /// The reason why the sandbox did not start.
  public enum StartError: Error, Sendable {
    /// The client key cannot be used, or OpenSSL could not make one.
    case key(KeyError)
    /// The port is taken, or the system gave no sockets.
    case system(SystemError)
  }

  /// The emulator and its port.
  public let server: SandboxServer
  /// The credential of the registered client.
  public let credential: SandboxCredential
  public let accountName: String

  /// Starts a sandbox with one client.
  ///
  /// - Parameters:
  ///   - port: The port on 127.0.0.1; 0 lets the system choose.
  ///   - clientKey: A key to trust, public or private, in any form the gateway accepts; nil generates an
  ///     ES256 key.
  ///   - furtherKeys: More keys of the same client, for a rotation of keys.
  ///   - clientSecret: A secret to trust; `clientKey` is then ignored.
  ///   - accountName: The name of the account.
  ///   - facts: A real account's responses, to imitate.
  ///   - time: The emulator's clock.
  ///   - post: Sends the messages of registered triggers.
  public static func start(
    port: UInt16 = 0, clientKey: [UInt8]? = nil, furtherKeys: [[UInt8]] = [], clientSecret: Secret? = nil,
    accountName: String = "sandbox", facts: AccountFacts? = nil, time: any TimeSource = SystemClock(),
    post: Emulator.Post? = nil
  ) throws(StartError) -> LocalTalkdesk {
    let credential: SandboxCredential
    let emulator: Emulator
    var registrations: [RegisteredKey] = []
    do throws(KeyError) {
      if let clientSecret {
        credential = SandboxCredential(trusting: clientSecret)
      } else if let clientKey {
        credential = try SandboxCredential(trusting: clientKey)
      } else {
        credential = try SandboxCredential()
      }
      registrations = [credential.registration].compactMap(\.self)
      for key in furtherKeys {
        registrations += [try SandboxCredential(trusting: key).registration].compactMap(\.self)
      }
      emulator = try Emulator(
        EmulatorConfiguration(
          accountName: accountName, clientID: credential.clientID, keys: registrations,
          clientSecret: credential.clientSecret, facts: facts),
        time: time, post: post)
    } catch {
      throw .key(error)
    }
    do throws(SystemError) {
      let server = try SandboxServer(emulator, port: port)
      return LocalTalkdesk(server: server, credential: credential, accountName: accountName)
    } catch {
      throw .system(error)
    }
  }

  /// The variables by name, in the order in which `shellLines` prints them. `TD_PRIVATE_KEY` is among them
  /// only if the sandbox made the key. Names and values need no quotes in a shell.
  public var variables: [(name: String, value: Secret)] {
    var variables = [("TD_ACCOUNT_NAME", Secret(accountName)), ("TD_CLIENT_ID", Secret(credential.clientID))]
    if let registration = credential.registration {
      variables.append(("TD_KEY_ID", Secret(registration.keyID)))
      variables.append(("TD_KEY_ALGORITHM", Secret(registration.algorithm.rawValue)))
    }
    if let privateKey = credential.privateKey { variables.append(("TD_PRIVATE_KEY", privateKey)) }
    variables.append(("TD_TOKEN_URL", Secret(server.baseURL + "/oauth/token")))
    variables.append(("TD_API_URL", Secret(server.baseURL)))
    return variables.map { (name: $0.0, value: $0.1) }
  }

  /// The output of `callgate sandbox`: one `NAME=value` line for each variable.
  public var shellLines: [String] { variables.map { "\($0.name)=\($0.value.exposedString())" } }
}
