// Tests of how metrics are written in Prometheus' text format.

import Testing

@testable import Metrics

@Suite struct MetricsTextTests {
  private func text(_ body: (inout MetricsText) -> Void) -> String {
    var text = MetricsText()
    body(&text)
    return String(decoding: text.bytes, as: UTF8.self)
  }

  @Test func `a family says what it is before its series`() {
    let written = text { text in
      text.family("a_total", .counter, "How often.")
      text.sample([("x", "1"), ("y", "")], 3)
      text.sample([], 7)
    }
    #expect(
      written == """
        # HELP a_total How often.
        # TYPE a_total counter
        a_total{x="1",y=""} 3
        a_total 7

        """)
  }

  @Test func `what could end a value or a line is escaped`() {
    let written = text { text in
      text.family("a", .gauge, "One\ntwo \\ \"three\"")
      text.sample([("x", "a\"b\\c\nd}")], 1)
    }
    #expect(written.contains("# HELP a One\\ntwo \\\\ \"three\"\n"))
    #expect(written.contains("a{x=\"a\\\"b\\\\c\\nd}\"} 1\n"))
    #expect(written.split(separator: "\n").count == 3)
  }

  @Test(
    arguments: [
      (0, "0"), (1.5, "1.5"), (2, "2"), (-0.25, "-0.25"), (0.0001, "0.0001"),
      (1_790_000_000.25, "1790000000.25"),
      (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (1e300, "1e+300"),
    ] as [(Double, String)])
  func `numbers are written as every scraper reads them`(value: Double, word: String) {
    #expect(MetricsText.number(value) == word)
  }

  @Test func `a histogram's buckets add up to its count`() {
    let histogram = EventHistogram("d_seconds", "Long.", label: "to", words: ["a", "b"])
    for nanoseconds: Int64 in [-5, 0, 100_000, 100_001, 250_000, 31_000_000_000, .max / 4] {
      histogram.observe("a", nanoseconds: nanoseconds)
    }
    histogram.observe("never declared", nanoseconds: 1)
    let lines = text { histogram.append(to: &$0) }.split(separator: "\n")
    #expect(lines.contains(#"d_seconds_bucket{to="a",le="0.0001"} 3"#))
    #expect(lines.contains(#"d_seconds_bucket{to="a",le="0.00025"} 5"#))
    #expect(lines.contains(#"d_seconds_bucket{to="a",le="30"} 5"#))
    #expect(lines.contains(#"d_seconds_bucket{to="a",le="+Inf"} 7"#))
    #expect(lines.contains(#"d_seconds_count{to="a"} 7"#))
    #expect(lines.contains(#"d_seconds_count{to="b"} 0"#))
    #expect(!lines.contains { $0.contains("never") })
  }

  @Test func `a histogram of hours tells a minute from a night`() {
    let histogram = EventHistogram("d_seconds", "Long.", bounds: DurationBuckets.longBounds)
    for seconds: Int64 in [0, 1, 2, 60, 61, 86_400, 86_401, 604_801] {
      histogram.observe(nanoseconds: seconds * 1_000_000_000)
    }
    let lines = text { histogram.append(to: &$0) }.split(separator: "\n")
    for (bound, count) in [("1", 2), ("2", 3), ("60", 4), ("86400", 6), ("604800", 7), ("+Inf", 8)] {
      #expect(lines.contains("d_seconds_bucket{le=\"\(bound)\"} \(count)"), "\(lines)")
    }
    let bounds = DurationBuckets.longBounds
    #expect(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func `bounds ascend and each is the last of its own bucket`() {
    let bounds = DurationBuckets.bounds
    #expect(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 })
    for (index, bound) in bounds.enumerated() {
      #expect(DurationBuckets.index(of: bound) == index)
      #expect(DurationBuckets.index(of: bound + 1) == index + 1)
    }
    #expect(DurationBuckets.words.count == DurationBuckets.count)
    #expect(DurationBuckets.words.first == "0.0001" && DurationBuckets.words.last == "+Inf")
  }
}
