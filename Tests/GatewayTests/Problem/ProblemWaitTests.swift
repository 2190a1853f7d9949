// Tests that the details of problems say in words how long to wait.

import Testing

@testable import API
@testable import Gate

@Suite struct ProblemWaitTests {
  @Test(arguments: [
    (0, "0 seconds"), (1, "1 second"), (120, "120 seconds"), (121, "3 minutes"), (7200, "120 minutes"),
    (7201, "3 hours"), (86_400, "24 hours"), (Int.max, "\(Int.max / 3600 + 1) hours"),
  ])
  func `a wait is given in seconds, minutes or hours, and never too short`(
    _ seconds: Int, _ words: String
  ) {
    #expect(Problem.words(seconds) == words)
  }

  @Test(
    arguments: [
      (1, nil, "Busy. Try again in 1 second."),
      (2, "with the same key", "Busy. Try again in 2 seconds with the same key."),
      (nil, nil, "Busy. Try again later."),
    ] as [(Int?, String?, String)])
  func `a detail ends with the wait in words, and with what the retry needs`(
    _ seconds: Int?, _ condition: String?, _ detail: String
  ) {
    let problem = Problem(.overloaded, "Busy.", tryAgainAfter: seconds, condition)
    #expect(problem.detail == detail && problem.retryAfter == seconds)
  }

  @Test(arguments: Problem.Code.allCases)
  func `no detail sends people to a header of the response, and a limit says how long it refuses`(
    _ code: Problem.Code
  ) {
    let problem = code.exampleProblem
    for name in ["Retry-After", "Location", "RateLimit"] { #expect(!problem.detail.contains(name)) }
    if let wait = problem.retryAfter, problem.detail.contains("Try again") {
      #expect(problem.detail.contains("Try again in \(Problem.words(wait))"))
    }
    let waiting: Set<Problem.Code> = [
      .rateLimited, .quotaExhausted, .noAgents, .slowDown, .upstreamRateLimited,
    ]
    guard waiting.contains(code) else { return }
    #expect(problem.retryAfter.map { problem.detail.hasSuffix("in \(Problem.words($0)).") } == true)
  }
}
