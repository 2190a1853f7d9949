// Reads the tables of published test vectors in Tests/Fixtures/vectors.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A row of a table of published vectors (Tests/Fixtures/vectors), which `script/fixtures` writes.
public struct Vector: Sendable, CustomStringConvertible {
  /// A missing table, or a missing or malformed cell.
  public struct Malformed: Error, CustomStringConvertible {
    public let description: String
  }

  private let table: String
  private let columns: [String: Int]
  private let cells: [String]

  /// The rows of a table.
  ///
  /// - Parameter name: the path of its file in Tests/Fixtures/vectors, without `.tsv`.
  public static func table(_ name: String) throws -> [Vector] {
    let path =
      "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
      + "/Fixtures/vectors/\(name).tsv"
    let lines = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))).split(separator: UInt8(ascii: "\n"))
    func cells(_ line: ArraySlice<UInt8>) -> [String] {
      line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
    guard let first = lines.first else { throw Malformed(description: "\(name): empty") }
    let columns = Dictionary(uniqueKeysWithValues: cells(first).enumerated().map { ($1, $0) })
    var vectors: [Vector] = []
    for line in lines.dropFirst() {
      var cells = cells(line)
      guard cells.count == columns.count else {
        throw Malformed(description: "\(name): line \(vectors.count + 2)")
      }
      // A quotation mark alone repeats the cell above.
      for index in cells.indices where cells[index] == "\"" {
        cells[index] = vectors.last?.cells[index] ?? ""
      }
      vectors.append(Vector(table: name, columns: columns, cells: cells))
    }
    return vectors
  }

  /// The text in a column.
  public func text(_ column: String) throws -> String {
    guard let index = columns[column] else { throw Malformed(description: "\(table): no column \(column)") }
    return cells[index]
  }

  /// The bytes in a column that contains Base64.
  public func octets(_ column: String) throws -> [UInt8] {
    guard let data = Data(base64Encoded: try text(column)) else {
      throw Malformed(description: "\(self): \(column) is not Base64")
    }
    return [UInt8](data)
  }

  /// The number in a column.
  public func number(_ column: String) throws -> Int {
    guard let number = Int(try text(column)) else {
      throw Malformed(description: "\(self): \(column) is no number")
    }
    return number
  }

  /// The table's name and the source's name for this vector.
  public var description: String { "\(table) \(cells[0])" }
}

extension Vector {
  /// JSONTestSuite's texts with their names. The first letters say what RFC 8259 requires: `y_` must parse,
  /// `n_` must not, `i_` may do either.
  public static func jsonTestSuite() throws -> [(name: String, content: [UInt8])] {
    try table("json-test-suite").map { vector in
      let unit = try vector.octets("octets")
      var content: [UInt8] = []
      for _ in 0..<(try vector.number("times")) { content += unit }
      return (try vector.text("id"), content + (try vector.octets("end")))
    }
  }
}
