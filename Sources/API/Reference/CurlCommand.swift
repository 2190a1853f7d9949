// Writes an operation as a curl command, which readers paste into a terminal.

import HTTP
import JSON

/// The curl command of an operation. `$CALLGATE` in it stands for the server's address.
enum CurlCommand {
  /// The command. Each option except `-X` is on its own line.
  ///
  /// - Parameter allowsAnonymous: Whether apps may send requests without credentials.
  static func text(_ path: String, _ operation: APIOperation, allowsAnonymous: Bool) -> String {
    var lines = ["curl \(method(operation))\"$CALLGATE\(target(path, operation))\""]
    switch operation.access {
    case .everybody: break
    case .callers: if !allowsAnonymous { lines.append(#"-u "$CALLGATE_USERNAME:$CALLGATE_PASSWORD""#) }
    case .operators: lines.append(#"-H "Authorization: Bearer $CALLGATE_ADMIN_TOKEN""#)
    }
    if let content = operation.content, let example = content.examples.first?.value {
      lines.append("-H \(quoted("Content-Type: \(content.type)"))")
      let text = example.string ?? String(decoding: example.serialized(), as: UTF8.self)
      lines.append("-d \(quoted(text))")
    }
    return lines.joined(separator: " \\\n  ")
  }

  /// `-d` means POST, and no option means GET.
  private static func method(_ operation: APIOperation) -> String {
    let usual: Method = operation.content == nil ? .get : .post
    return operation.method == usual ? "" : "-X \(operation.method.rawValue) "
  }

  /// The path with its parameters' examples, and the query that the operation needs.
  private static func target(_ path: String, _ operation: APIOperation) -> String {
    var path = path
    var query: [String] = []
    for parameter in operation.parameters {
      guard let example = parameter.example?.string else { continue }
      if parameter.place == .path { path = path.replacing("{\(parameter.name)}", with: example) }
      if parameter.place == .query, parameter.isRequired { query.append("\(parameter.name)=\(example)") }
    }
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }

  /// A text as one word of a shell's command.
  private static func quoted(_ text: String) -> String {
    "'\(text.replacing("'", with: #"'\''"#))'"
  }
}
