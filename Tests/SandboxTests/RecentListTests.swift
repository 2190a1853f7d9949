// Tests of the list that keeps only its most recent entries.

import Testing

@testable import Sandbox

@Suite struct RecentListTests {
  @Test func `the last so many are kept in order and all are counted`() {
    var list = RecentList<Int>(capacity: 3)
    #expect(list.elements == [])
    for number in 1...3 { list.append(number) }
    #expect(list.elements == [1, 2, 3])
    for number in 4...8 { list.append(number) }
    #expect(list.elements == [6, 7, 8])
    #expect(list.count == 8)
    list.removeAll()
    #expect(list.elements == [])
    #expect(list.count == 0)
  }
}
