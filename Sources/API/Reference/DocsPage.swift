// Generates the API documentation as a web page without scripts or external resources.

import HTTP
import JSON
package import Pages

/// Writes the page.
package struct DocsPage {
  /// The whole style sheet. `HTMLText.pageFields` puts its digest into the page's policy.
  static let style = PageFile.design.text + PageFile.docsStyle.text

  private let document: APIDocument

  package init(_ document: APIDocument) { self.document = document }

  /// The page as an answer.
  package var response: FixedDocument {
    FixedDocument(fields: HTMLText.pageFields(style: Self.style), content: Array(html.utf8))
  }

  private var html: String {
    PageFile.docs.filled([
      "style": .markup("<style>\(Self.style)</style>"),
      "version": .text(Version.current),
      "summary": .text(APIDocument.summary),
      "contents": .markup(contents),
      "introduction": .markup(HTMLText.paragraphs(APIDocument.introduction)),
      "reference": .markup(APIOperation.Tag.allCases.map(section).joined() + problems + schemas),
    ])
  }

  private var contents: String {
    let sections = APIOperation.Tag.allCases.map { tag in
      let links = operations(tag).map { endpoint, operation in
        """
        <li><a href="#\(operation.id)"><b>\(operation.method.rawValue)</b> \(HTMLText.escaped(endpoint.paths[0]))</a></li>

        """
      }
      return
        "<div>\n<h2><a href=\"#tag-\(tag.rawValue)\">\(tag.rawValue)</a></h2>\n<ul>\n\(links.joined())</ul>\n</div>\n"
    }
    return sections.joined() + """
      <h2><a href="#problems">Errors</a></h2>
      <h2><a href="#schemas">Schemas</a></h2>

      """
  }

  private func operations(_ tag: APIOperation.Tag) -> [(Endpoint, APIOperation)] {
    document.endpoints.flatMap { endpoint in
      endpoint.operations.filter { $0.tag == tag && $0.original == nil }.map { (endpoint, $0) }
    }
  }

  // MARK: Operations

  private func section(_ tag: APIOperation.Tag) -> String {
    """
    <section aria-labelledby="tag-\(tag.rawValue)">
    <h2 id="tag-\(tag.rawValue)">\(tag.rawValue)</h2>
    <p>\(HTMLText.inline(tag.description))</p>
    \(operations(tag).map(article).joined())</section>

    """
  }

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
          ? "Credentials are optional." : "The caller sends credentials."
      case .operators: "The operator sends <code>Authorization: Bearer TOKEN</code>."
      }
    return """
      <article id="\(operation.id)" class="card">
      <h3><span class="badge info">\(operation.method.rawValue)</span> \(HTMLText.code(endpoint.paths[0]))</h3>
      <p class="summary">\(HTMLText.inline(operation.summary))</p>
      \(others.isEmpty ? "" : "<p>Also \(others).</p>\n")\(HTMLText.paragraphs(operation.description))<p>\(access)
      <span class="soft">Allow: \(endpoint.allowed)</span></p>
      \(command(endpoint, operation))\(parameters(operation))\(content(operation))\(answers(operation))\(refusals(operation))</article>

      """
  }

  private func command(_ endpoint: Endpoint, _ operation: APIOperation) -> String {
    let text = CurlCommand.text(endpoint.paths[0], operation, allowsAnonymous: document.allowsAnonymous)
    return "<pre tabindex=\"0\">\(HTMLText.escaped(text))</pre>\n"
  }

  private func parameters(_ operation: APIOperation) -> String {
    table(
      "Parameters", ["Name", "In", "Meaning"],
      operation.parameters.map {
        [HTMLText.code($0.name), $0.place.rawValue, HTMLText.inline($0.description)]
      })
  }

  private func content(_ operation: APIOperation) -> String {
    guard let content = operation.content else { return "" }
    return "<h4>Request body</h4>\n<p>\(form(content))</p>\n\(examples(content))"
  }

  private func answers(_ operation: APIOperation) -> String {
    let rows = operation.answers.map { answer in
      let forms = answer.contents.map(form).joined(separator: "<br>")
      let fields = answer.fields.map { HTMLText.code($0.name) }.joined(separator: " ")
      return [
        "\(answer.status.code)", HTMLText.inline(answer.description) + (forms.isEmpty ? "" : "<br>\(forms)"),
        fields,
      ]
    }
    return table("Responses", ["Status", "Meaning", "Headers"], rows)
      + operation.answers.flatMap(\.contents).map(examples).joined()
  }

  private func refusals(_ operation: APIOperation) -> String {
    let rows = APIRefusals.grouped(operation.allRefusals).map { refusal in
      let codes = refusal.codes.map {
        ##"<a href="#code-\##($0.rawValue)"><code>\##($0.rawValue)</code></a>"##
      }
      return ["\(refusal.status)", codes.joined(separator: " ")]
    }
    return "<details>\n<summary>Errors</summary>\n\(table(nil, ["Status", "Codes"], rows))</details>\n"
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

  // MARK: Reference

  private var problems: String {
    let parts = Problem.Code.allCases.map { code in
      """
      <details id="code-\(code.rawValue)">
      <summary><span class="badge bad">\(code.status.code)</span> <code>\(code.rawValue)</code> \(HTMLText.escaped(code.title))</summary>
      <pre tabindex="0">\(HTMLText.escaped(HTMLText.pretty(code.example)))</pre>
      </details>

      """
    }
    return """
      <section aria-labelledby="problems">
      <h2 id="problems">Errors</h2>
      <p>The body of every error is <code>application/problem+json</code>: \(Self.link("Problem")).</p>
      <div class="card">
      \(parts.joined())</div>
      </section>

      """
  }

  private var schemas: String {
    let parts = APISchemas.all.map { name, schema in
      "<article id=\"schema-\(name)\" class=\"card\">\n<h3><code>\(name)</code></h3>\n\(SchemaText.html(schema))</article>\n"
    }
    return """
      <section aria-labelledby="schemas">
      <h2 id="schemas">Schemas</h2>
      \(parts.joined())</section>

      """
  }

  /// The name of the schema a reference leads to.
  static func referred(_ schema: JSONValue) -> String? {
    schema["$ref"]?.string.flatMap { $0.split(separator: "/").last }.map(String.init)
  }

  static func link(_ name: String) -> String { ##"<a href="#schema-\##(name)"><code>\##(name)</code></a>"## }

  private func table(_ title: String?, _ head: [String], _ rows: [[String]]) -> String {
    guard !rows.isEmpty else { return "" }
    return (title.map { "<h4>\($0)</h4>\n" } ?? "") + SchemaText.table(head, rows)
  }
}
