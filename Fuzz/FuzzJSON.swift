// sources: Texts JSON
// about: JSON/JSONParser.swift JSON/JSONParser+String.swift JSON/UTF8Sequence.swift JSON/JSONNumber.swift
// Feeds arbitrary octets to the JSON parser: it does not trap, and a value that is written reads as the same value.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let octets = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  guard let value = try? JSONValue(parsing: octets) else { return 0 }
  let written = value.serialized()
  guard let again = try? JSONValue(parsing: written) else { preconditionFailure("what was written is no JSON") }
  precondition(again == value && again.serialized() == written, "a value reads as another")
  _ = value.hashValue
  _ = (value["a"]?.int(in: 0...10), value["a"]?.int(clampedTo: 0...10), value["a"]?.double(in: 0...1))
  return 0
}
