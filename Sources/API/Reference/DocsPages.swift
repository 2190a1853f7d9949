// Generates the API documentation as web pages: an overview, a page for each tag, one for the errors and one
// for the schemas.

import Gate
import HTTP
import JSON
package import Pages

/// The pages of the API documentation. They are readable without scripts, and load nothing from other hosts.
package struct DocsPages {
  private let document: APIDocument

  package init(_ document: APIDocument) { self.document = document }

  /// The page at `/docs`.
  package var overview: FixedDocument {
    page(
      "Overview",
      """
      \(Self.placeholder)<div class="starts">
      \(start("getAccess", "Get a token", "For apps that use Talkdesk's SDK."))\(start("postCallback", "Request a callback", "For apps that never hold a token."))</div>
      <section class="card">
      \(HTMLText.paragraphs(APIDocument.introduction))</section>
      \(APIOperation.Tag.allCases.map(summary).joined())\(further)
      """)
  }

  /// A first request: its command, and where to read more.
  private func start(_ id: String, _ title: String, _ purpose: String) -> String {
    operationsOfAll.filter { $0.1.id == id }.map { endpoint, operation in
      """
      <section class="card" aria-labelledby="start-\(id)">
      <h2 id="start-\(id)">\(title)</h2>
      <p>\(purpose)</p>
      \(command(endpoint, operation))<p><a href="/docs/\(operation.tag.path)#\(id)">Parameters, responses and errors</a></p>
      </section>

      """
    }.joined()
  }

  /// The documents below `/docs/`, by name.
  package var parts: [String: FixedDocument] {
    var parts = [
      "docs.css": .file("text/css", PageFile.design.octets + PageFile.docsStyle.octets),
      "docs.js": .file("text/javascript", PageFile.docsScript.octets),
      "errors": page("Errors", errors), "schemas": page("Schemas", schemas),
    ]
    for tag in APIOperation.Tag.allCases {
      parts[tag.path] = page(
        tag.rawValue,
        "<p>\(HTMLText.inline(tag.description))</p>\n\(Self.placeholder)\(operations(tag).map(article).joined())"
      )
    }
    return parts
  }

  private func page(_ title: String, _ content: String) -> FixedDocument {
    let html = PageFile.docs.filled([
      "title": .text(title), "version": .text(Version.current), "content": .markup(content),
      "contents": .markup(contents),
    ])
    return FixedDocument(fields: HTMLText.pageFields(asksServer: false), content: Array(html.utf8))
  }

  /// The hint that is shown without scripts. With scripts, the commands have this server's address.
  private static let placeholder = """
    <p class="no-script">In the commands, replace <code>$CALLGATE</code> with the address of this server, without a final slash.</p>

    """

  // MARK: Contents

  private var contents: String {
    let tags = APIOperation.Tag.allCases.map { tag in
      let links = operations(tag).map { endpoint, operation in
        """
        <li data-words="\(HTMLText.escaped(([operation.id] + endpoint.paths).joined(separator: " ")))"><a href="/docs/\(tag.path)#\(operation.id)"><b>\(operation.method.rawValue)</b> \(HTMLText.escaped(operation.summary))</a></li>

        """
      }
      return group(tag.rawValue, tag.path, links.joined())
    }
    // Only a search shows the codes and schemas. Otherwise they would hide the operations.
    let codes = Problem.Code.allCases.map { code in
      #"<li hidden><a href="/docs/errors#code-\#(code.rawValue)"><b>\#(code.status.code)</b> \#(code.rawValue)</a></li>"#
        + "\n"
    }
    let schemas = APISchemas.all.map { name, _ in
      #"<li hidden><a href="/docs/schemas#schema-\#(name)">\#(name)</a></li>"# + "\n"
    }
    return tags.joined() + group("Errors", "errors", codes.joined())
      + group("Schemas", "schemas", schemas.joined())
  }

  private func group(_ title: String, _ path: String, _ links: String) -> String {
    """
    <div class="group">
    <h2><a href="/docs/\(path)">\(title)</a></h2>
    <ul>
    \(links)</ul>
    </div>

    """
  }

  /// The operations of a tag on the overview. Each operation has its id here too, so that old links still
  /// work.
  private func summary(_ tag: APIOperation.Tag) -> String {
    let lines = operations(tag).map { endpoint, operation in
      let page = "/docs/\(tag.path)#\(operation.id)"
      return """
        <li id="\(operation.id)" data-page="\(page)"><b>\(operation.method.rawValue)</b> <span><a href="\(page)">\(HTMLText.escaped(operation.summary))</a><br>
        \(HTMLText.code(endpoint.paths[0]))</span></li>

        """
    }
    return """
      <section aria-labelledby="tag-\(tag.path)">
      <h2 id="tag-\(tag.path)"><a href="/docs/\(tag.path)">\(tag.rawValue)</a></h2>
      <p>\(HTMLText.inline(tag.description))</p>
      <ul class="index">
      \(lines.joined())</ul>
      </section>

      """
  }

  private let further = """
    <section aria-labelledby="further">
    <h2 id="further">Errors and schemas</h2>
    <p>Every error has a code: <a href="/docs/errors">all codes</a>. <a href="/docs/schemas">All schemas</a> describe what the server sends and accepts.</p>
    </section>

    """

  private func operations(_ tag: APIOperation.Tag) -> [(Endpoint, APIOperation)] {
    operationsOfAll.filter { $0.1.tag == tag }
  }

  private var operationsOfAll: [(Endpoint, APIOperation)] {
    document.endpoints.flatMap { endpoint in
      endpoint.operations.filter { $0.original == nil }.map { (endpoint, $0) }
    }
  }

  // MARK: Operations

  private func article(_ endpoint: Endpoint, _ operation: APIOperation) -> String {
    let aliases = document.endpoints.filter { other in
      other.operations.contains { $0.id == operation.id && $0.original == endpoint.paths[0] }
    }
    let others = (endpoint.paths.dropFirst() + aliases.map { $0.paths[0] }).map(HTMLText.code)
      .joined(separator: ", ")
    let access: String =
      switch operation.access {
      case .everybody: "No credentials are needed."
      case .callers:
        document.allowsAnonymous
          ? "This server accepts requests without credentials." : "The caller sends credentials."
      case .operators(let role):
        "The operator sends <code>Authorization: Bearer TOKEN</code>. Role: <code>\(role.rawValue)</code>."
      }
    return """
      <article id="\(operation.id)" class="card" aria-labelledby="title-\(operation.id)">
      <h2 id="title-\(operation.id)">\(HTMLText.inline(operation.summary))</h2>
      <p class="target"><span class="badge info">\(operation.method.rawValue)</span> \(HTMLText.code(endpoint.paths[0]))</p>
      \(others.isEmpty ? "" : "<p>Also \(others).</p>\n")\(HTMLText.paragraphs(operation.description))<p>\(access)
      <span class="soft">Allow: \(endpoint.allowed)</span></p>
      \(command(endpoint, operation))\(parameters(operation))\(content(operation))\(answers(operation))\(refusals(operation))</article>

      """
  }

  private func command(_ endpoint: Endpoint, _ operation: APIOperation) -> String {
    let text = CurlCommand.text(endpoint.paths[0], operation, allowsAnonymous: document.allowsAnonymous)
    // Only `$CALLGATE` before a path is the address. The names of other variables, such as
    // `$CALLGATE_USERNAME`, are longer.
    let markup = HTMLText.escaped(text).replacing(
      "$CALLGATE/", with: #"<span class="address">$CALLGATE</span>/"#)
    return
      #"<div class="copy" data-name="\#(HTMLText.escaped(operation.summary))"><pre tabindex="0">\#(markup)</pre></div>"#
      + "\n"
  }

  private func parameters(_ operation: APIOperation) -> String {
    list(
      "Parameters",
      operation.allParameters.map {
        (HTMLText.code($0.name), "<small>\($0.place.rawValue)</small> \(HTMLText.inline($0.description))")
      })
  }

  private func content(_ operation: APIOperation) -> String {
    guard let content = operation.content else { return "" }
    return "<h3>Request body</h3>\n<p>\(form(content))</p>\n\(examples(content))"
  }

  private func answers(_ operation: APIOperation) -> String {
    let rows = operation.answers.map { answer in
      let forms = answer.contents.map(form).joined(separator: "<br>")
      let fields = answer.fields.map { HTMLText.code($0.name) }.joined(separator: " ")
      return (
        #"<span class="badge good">\#(answer.status.code)</span>"#,
        HTMLText.inline(answer.description) + (forms.isEmpty ? "" : "<br>\(forms)")
          + (fields.isEmpty ? "" : "<small>Headers: \(fields)</small>")
      )
    }
    return list("Responses", rows) + operation.answers.flatMap(\.contents).map(examples).joined()
  }

  private func refusals(_ operation: APIOperation) -> String {
    let rows = APIRefusals.grouped(operation.allRefusals).map { refusal in
      let codes = refusal.codes.map {
        #"<a href="/docs/errors#code-\#($0.rawValue)"><code>\#($0.rawValue)</code></a>"#
      }
      return (#"<span class="badge bad">\#(refusal.status)</span>"#, codes.joined(separator: " "))
    }
    return "<details>\n<summary>Errors</summary>\n\(list(nil, rows))</details>\n"
  }

  /// The type and schema of a content.
  private func form(_ content: APIContent) -> String {
    let types = [content.type, content.otherType].compactMap { $0.map(HTMLText.code) }.joined(separator: ", ")
    guard let name = Self.referred(content.schema) else { return types }
    return "\(types): \(Self.link(name))"
  }

  private func examples(_ content: APIContent) -> String {
    content.examples.map { name, value in
      let text: String = if let plain = value.string { plain } else { HTMLText.pretty(value) }
      return """
        <details>
        <summary>Example: \(HTMLText.escaped(name)) <small>\(content.type)</small></summary>
        <pre tabindex="0">\(HTMLText.escaped(text))</pre>
        </details>

        """
    }.joined()
  }

  private func list(_ title: String?, _ rows: [(String, String)]) -> String {
    guard !rows.isEmpty else { return "" }
    return (title.map { "<h3>\($0)</h3>\n" } ?? "") + SchemaText.list(rows)
  }

  // MARK: Reference

  private var errors: String {
    let parts = Problem.Code.allCases.map { code in
      """
      <details id="code-\(code.rawValue)">
      <summary><span class="badge bad">\(code.status.code)</span> <code>\(code.rawValue)</code> \(HTMLText.escaped(code.title))</summary>
      <pre tabindex="0">\(HTMLText.escaped(HTMLText.pretty(code.example)))</pre>
      </details>

      """
    }
    return """
      <p>The body of every error is <code>application/problem+json</code>: \(Self.link("Problem")).</p>
      <div class="card">
      \(parts.joined())</div>

      """
  }

  private var schemas: String {
    APISchemas.all.map { name, schema in
      "<article id=\"schema-\(name)\" class=\"card\">\n<h2><code>\(name)</code></h2>\n\(SchemaText.html(schema))</article>\n"
    }.joined()
  }

  /// The name of the schema that a reference points to.
  static func referred(_ schema: JSONValue) -> String? {
    schema["$ref"]?.string.flatMap { $0.split(separator: "/").last }.map(String.init)
  }

  static func link(_ name: String) -> String {
    #"<a href="/docs/schemas#schema-\#(name)"><code>\#(name)</code></a>"#
  }
}

extension APIOperation.Tag {
  /// The name of the tag's page below `/docs/`.
  package var path: String { rawValue.lowercased() }
}
