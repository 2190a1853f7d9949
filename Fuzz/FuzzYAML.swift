// sources: Texts JSON Documents Configuration/YAMLNode.swift Configuration/YAMLParser.swift Configuration/YAMLReader.swift Configuration/ProblemList.swift
// about: Configuration/YAMLNode.swift Configuration/YAMLParser.swift Configuration/YAMLReader.swift
// The reader of configurations against any octets: a document, or problems, and never both missing.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzYAML(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let octets = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  var problems = ProblemList()
  if let node = YAMLReader.read(octets, name: "callgate.yaml", into: &problems) { _ = node["rules"]?.kind }
  return 0
}

/// In place of the one beside the settings, which would bring all of them here.
package struct ConfigurationNotice: Hashable, Sendable {
  let place: DocumentPlace
  let message: String
}
