// Tests that no mutated or fuzzed input crashes the request parser or makes it depend on segment boundaries.

import HTTP
import TestSupport
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

private let seeds = [
  "GET /access?probe HTTP/1.1\r\nHost: a.example:80\r\nAuthorization: Basic YTpi\r\nConnection: keep-alive\r\n\r\n",
  "POST /calls/callback HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"a\":\"b\"}",
  "POST /token/x HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n4;a=\"b\"\r\nabcd\r\n2 ; c\r\nef\r\n0\r\nX: y\r\n\r\n",
  "GET http://a.example/x HTTP/1.0\r\n\r\n",
  "\r\nOPTIONS * HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
].map(octets)

private let spice = [
  "\r\n", "\r", "\n", "\0", ":", " ", "\t", "\u{FF}", "%00", "0x", "-", "+", ",", ";", "\r\n ",
  "Content-Length: 0\r\n",
  "Transfer-Encoding: chunked\r\n", "99999999999999999999", "ffffffffffffffff", "chunked", "0\r\n\r\n",
].map(octets)

@Test func `no mutation of good requests traps the parser or depends on segmentation`() {
  var random = SeededGenerator(20_26)
  let limits = MessageLimits(headerBytes: 256, fieldLines: 6, contentBytes: 32)
  for round in 0..<4000 {
    var stream = seeds.randomElement(using: &random) ?? []
    if Bool.random(using: &random) { stream += seeds.randomElement(using: &random) ?? [] }
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let place = Int.random(in: 0...stream.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0 where place < stream.count: stream.remove(at: place)
      case 1 where place < stream.count: stream[place] = UInt8.random(in: .min ... .max, using: &random)
      case 2: stream.insert(contentsOf: spice.randomElement(using: &random) ?? [], at: place)
      case 3: stream.insert(UInt8.random(in: .min ... .max, using: &random), at: place)
      default: stream.insert(contentsOf: stream[(place / 2)..<place], at: place)
      }
    }
    let whole = ParserTrace(stream, limits: limits)
    let cuts = (0..<3).map { _ in Int.random(in: 0...stream.count, using: &random) }.sorted()
    let cut = ParserTrace(stream, cutAt: cuts, limits: limits)
    let single = ParserTrace(stream, cutAt: Array(0...stream.count), limits: limits)
    guard cut == whole, single == whole else {
      Issue.record(
        "round \(round): \(stream) cut at \(cuts) gives \(cut), octet by octet \(single), whole \(whole)")
      return
    }
  }
}

@Test func `the fuzzer's corpus neither traps the parser nor depends on segmentation`() throws {
  let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
  let folder = root + "/Fuzz/Corpus/RequestParser"
  let names = try FileManager.default.contentsOfDirectory(atPath: folder)
  #expect(!names.isEmpty)
  for name in names {
    // The first byte tells the fuzz target where to cut.
    let stream = try Array(Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)).dropFirst())
    if let difference = segmentationMatters(stream) { Issue.record("\(name): \(difference)") }
  }
}

@Test func `a public fuzz corpus neither traps the parser nor depends on segmentation`() throws {
  let corpus = try Vector.table("http1/h2o-corpus")
  #expect(corpus.count > 1800)
  for (number, vector) in corpus.enumerated() where number.isMultiple(of: spacing(6)) {
    if let difference = segmentationMatters(try vector.octets("octets")) {
      Issue.record("\(vector): \(difference)")
    }
  }
}
