// Tests of the counters and histograms behind the metrics page.

import HTTP
import Testing

@testable import Metrics

@Suite struct CounterTests {
  private func lines(_ body: (inout MetricsText) -> Void) -> [String] {
    var text = MetricsText()
    body(&text)
    return String(decoding: text.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  // MARK: Requests

  @Test func `answers of all lanes are added up, and each series stands for itself`() {
    let counters = RequestCounters(routes: ["other", "/a"], lanes: 2)
    for lane in 0..<2 {
      counters.count(route: 1, method: .get, status: 200, nanoseconds: 50_000, lane: lane)
      counters.count(route: 1, method: .post, status: 429, nanoseconds: 2_000_000, lane: lane)
    }
    counters.count(route: 0, method: .other, status: 400, nanoseconds: nil, lane: 1)
    let answers = lines { counters.appendAnswers("r_total", "Answers.", to: &$0) }
    #expect(
      answers.dropFirst(2) == [
        #"r_total{route="other",method="other",status="400"} 1"#,
        #"r_total{route="/a",method="GET",status="200"} 2"#,
        #"r_total{route="/a",method="POST",status="429"} 2"#,
      ])
    let durations = lines { counters.appendDurations("d_seconds", "Long.", to: &$0) }
    #expect(durations.contains(#"d_seconds_bucket{route="/a",le="0.0001"} 2"#))
    #expect(durations.contains(#"d_seconds_sum{route="/a"} 0.0041"#))
    #expect(durations.contains(#"d_seconds_count{route="/a"} 4"#))
    // A request without a duration adds none.
    #expect(!durations.contains { $0.contains("other") })
  }

  @Test func `every status with a series of its own has a word`() {
    for (index, word) in StatusCodes.words.dropLast().enumerated() {
      #expect(StatusCodes.index(of: Int(word) ?? 0) == index)
    }
    for code in [0, 100, 299, 418, 599, 1000, -1] {
      #expect(StatusCodes.words[StatusCodes.index(of: code)] == "other")
    }
  }

  @Test func `every method has its own series`() {
    let methods: [Method] = [.get, .head, .post, .put, .delete, .options, .trace, .connect, .patch, .other]
    let counters = RequestCounters(routes: ["other"], lanes: 1)
    for method in methods { counters.count(route: 0, method: method, status: 200, nanoseconds: 1, lane: 0) }
    let answers = lines { counters.appendAnswers("r_total", "Answers.", to: &$0) }
    for method in methods {
      let word = method == .other ? "other" : method.rawValue
      #expect(answers.contains(#"r_total{route="other",method="\#(word)",status="200"} 1"#))
    }
  }

  @Test func `numbers from nowhere count under the first route and in some lane`() {
    let counters = RequestCounters(routes: ["other", "/a"], lanes: 2)
    counters.count(route: 255, method: .get, status: 999, nanoseconds: 1, lane: 77)
    let answers = lines { counters.appendAnswers("r_total", "Answers.", to: &$0) }
    #expect(answers.last == #"r_total{route="other",method="GET",status="other"} 1"#)
  }

  @Test func `the last place of the largest table is one of its own`() {
    let routes = (0..<RequestCounters.mostRoutes).map { "/\($0)" }
    let counters = RequestCounters(routes: routes, lanes: 1)
    counters.count(route: 31, method: .patch, status: 999, nanoseconds: .max / 8, lane: 0)
    let answers = lines { counters.appendAnswers("r_total", "Answers.", to: &$0) }
    #expect(answers.dropFirst(2) == [#"r_total{route="/31",method="PATCH",status="other"} 1"#])
    let durations = lines { counters.appendDurations("d_seconds", "Long.", to: &$0) }
    #expect(durations.contains(#"d_seconds_bucket{route="/31",le="+Inf"} 1"#))
  }

  @Test func `additions from many threads at once all count`() async {
    let counters = LaneCounters(label: "x", words: ["a", "b"], lanes: 2)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for _ in 0..<10_000 { counters.add(to: 1, lane: task % 3 == 0 ? nil : task % 2) }
        }
      }
    }
    #expect(counters.total(0) == 0)
    #expect(counters.total(1) == 80_000)
  }

  @Test func `the longest durations crash nothing, and their sum is right`() {
    let histogram = EventHistogram("h_seconds", "Long.")
    for _ in 0..<3 { histogram.observe(nanoseconds: .max) }
    histogram.observe(nanoseconds: -5)
    let written = lines { histogram.append(to: &$0) }
    #expect(written.contains("h_seconds_count 4"))
    let sum = written.first { $0.hasPrefix("h_seconds_sum ") }.flatMap { Double($0.dropFirst(14)) }
    #expect(sum.map { abs($0 - 3 * 9_223_372_036.854776) < 0.001 } == true)
  }

  @Test func `the sum of requests' durations holds what 20,000 waiting clients add in years`() {
    let counters = RequestCounters(routes: ["other"], lanes: 1)
    for _ in 0..<1000 {
      counters.count(route: 0, method: .get, status: 200, nanoseconds: .max / 8, lane: 0)
    }
    let written = lines { counters.appendDurations("d_seconds", "Long.", to: &$0) }
    let sum = written.first { $0.hasPrefix("d_seconds_sum") }.flatMap { Double($0.split(separator: " ")[1]) }
    #expect(sum.map { abs($0 / 1_152_921_504_606 - 1) < 0.001 } == true)
  }

  // MARK: Decisions

  private func decisions(lanes: Int = 2) -> DecisionCounters {
    DecisionCounters(
      actions: ["access", "callback"],
      codes: [
        .init("", decision: "allow"), .init("closed", decision: "deny"), .init("internal", decision: "error"),
      ], lanes: lanes)
  }

  @Test func `decisions are counted by action, rule and code`() {
    let counters = decisions()
    counters.register(["hours", "daily"])
    counters.count(action: 0, code: 0, rule: nil, lane: 0)
    counters.count(action: 0, code: 0, rule: nil, lane: 1)
    counters.count(action: 1, code: 1, rule: "hours", lane: 0)
    counters.count(action: 1, code: 2, rule: nil, lane: 0)
    counters.countObjection(action: 0, rule: "daily", lane: 1)
    #expect(
      lines { counters.appendDecisions("d_total", "Decisions.", to: &$0) }.dropFirst(2) == [
        #"d_total{action="access",decision="allow",rule="",code=""} 2"#,
        #"d_total{action="callback",decision="error",rule="",code="internal"} 1"#,
        #"d_total{action="callback",decision="deny",rule="hours",code="closed"} 1"#,
      ])
    #expect(
      lines { counters.appendObjections("o_total", "Objections.", to: &$0) }.last
        == #"o_total{action="access",rule="daily"} 1"#)
  }

  @Test func `a rule keeps its counts when others come, and an unknown rule is not named`() {
    let counters = decisions()
    counters.register(["a"])
    counters.count(action: 0, code: 1, rule: "a", lane: 0)
    counters.register(["b", "a"])
    counters.count(action: 0, code: 1, rule: "a", lane: 0)
    counters.count(action: 0, code: 1, rule: "invented by a caller", lane: 0)
    let written = lines { counters.appendDecisions("d_total", "Decisions.", to: &$0) }
    #expect(written.contains(#"d_total{action="access",decision="deny",rule="a",code="closed"} 2"#))
    #expect(written.contains(#"d_total{action="access",decision="deny",rule="_other",code="closed"} 1"#))
    #expect(!written.contains { $0.contains("invented") })
  }

  @Test func `more rules than there are places share one, and none overflows`() {
    let counters = decisions(lanes: 1)
    let names = (0..<200).map { "rule-\($0)" }
    counters.register(names)
    for name in names { counters.count(action: 1, code: 2, rule: name, lane: 0) }
    for name in names { counters.countObjection(action: 1, rule: name, lane: 0) }
    let written = lines { counters.appendDecisions("d_total", "Decisions.", to: &$0) }.dropFirst(2)
    #expect(written.count == DecisionCounters.mostRules + 1)
    let shared = 200 - DecisionCounters.mostRules
    #expect(
      written.contains(
        #"d_total{action="callback",decision="error",rule="_other",code="internal"} \#(shared)"#))
    #expect(
      lines { counters.appendObjections("o_total", "Objections.", to: &$0) }.contains(
        #"o_total{action="callback",rule="_other"} \#(shared)"#))
  }

  @Test func `codes that alerts look at stand there before they occur`() {
    let codes: Set<String> = ["", "internal"]
    let written = lines {
      let counters = decisions()
      counters.register(["burst"])
      counters.appendDecisions(
        "d_total", "D.",
        always: [
          "": ["access": codes, "callback": codes], "burst": ["callback": ["internal"]],
          "none": ["access": codes],
        ],
        to: &$0)
    }
    #expect(
      written.dropFirst(2) == [
        #"d_total{action="access",decision="allow",rule="",code=""} 0"#,
        #"d_total{action="access",decision="error",rule="",code="internal"} 0"#,
        #"d_total{action="callback",decision="allow",rule="",code=""} 0"#,
        #"d_total{action="callback",decision="error",rule="",code="internal"} 0"#,
        #"d_total{action="callback",decision="error",rule="burst",code="internal"} 0"#,
      ])
  }

  // MARK: Rare events

  @Test func `events count under their series, and unknown ones under other`() {
    let counter = EventCounter(
      "e_total", "Events.", labels: ["to", "outcome"], series: [["a", "ok"], ["a", "bad"]])
    counter.count("a", "ok")
    counter.count("a", "ok", by: 2)
    counter.count("a", "strange")
    counter.count("a", "stranger")
    #expect(
      lines { counter.append(to: &$0) }.dropFirst(2) == [
        #"e_total{to="a",outcome="ok"} 3"#, #"e_total{to="a",outcome="bad"} 0"#,
        #"e_total{to="a",outcome="other"} 2"#,
      ])
    #expect(counter.total("a", "ok") == 3 && counter.total("a", "bad") == 0)
  }

  @Test func `a counter without labels is one series`() {
    let counter = EventCounter("e_total", "Events.")
    counter.count()
    #expect(lines { counter.append(to: &$0) }.last == "e_total 1")
  }
}
