// sources: Texts JSON Documents Configuration/YAMLNode.swift Configuration/YAMLParser.swift Configuration/YAMLReader.swift Configuration/ProblemList.swift
// about: Configuration/YAMLNode.swift Configuration/YAMLParser.swift Configuration/YAMLReader.swift
// Feeds arbitrary octets to the reader of configuration files: it does not trap.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzYAML(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let octets = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  var problems = ProblemList()
  if let node = YAMLReader.read(octets, name: "callgate.yaml", into: &problems) { _ = node["rules"]?.kind }
  return 0
}

/// Stands in for the type in Configuration, whose file would need all settings here.
package struct ConfigurationNotice: Hashable, Sendable {
  let place: DocumentPlace
  let message: String
}
