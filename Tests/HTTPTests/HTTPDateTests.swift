// Tests of how HTTP dates are written.

import HTTP
import Testing

@Test(arguments: [
  (Int64(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT"),
  (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
  (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
  (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
  (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
  (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
  (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
  (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"),
  (.min, "Mon, 01 Jan 0001 00:00:00 GMT"),
  (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
]) func `a time is written as IMF-fixdate`(seconds: Int64, date: String) {
  #expect(HTTPDate.string(unixSeconds: seconds) == date)
}

@Test func `every day of four centuries follows the day before`() {
  let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  var day = 0
  for year in 1970..<2370 {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    for month in 0..<12 {
      for dayOfMonth in 1...(months[month] + (month == 1 && isLeap ? 1 : 0)) {
        let number = dayOfMonth < 10 ? "0\(dayOfMonth)" : "\(dayOfMonth)"
        let expected = "\(weekdays[day % 7]), \(number) \(names[month]) \(year) 00:00:00 GMT"
        guard HTTPDate.string(unixSeconds: Int64(day) * 86_400) == expected else {
          Issue.record("day \(day) is not \(expected)")
          return
        }
        day += 1
      }
    }
  }
}
