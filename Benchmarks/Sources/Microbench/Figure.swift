/// One measured figure, with the words and the precision it is shown in.
struct Figure {
  var label: String
  var value: Double
  var unit: String
  var decimals: Int
  /// Operations per second of processor time, which comparisons divide.
  var rate: Double

  /// Nanoseconds each operation took.
  static func nanoseconds(_ label: String, rate: Double) -> Figure {
    Figure(label: label, value: 1e9 / rate, unit: "ns", decimals: 0, rate: rate)
  }

  /// Microseconds each operation took.
  static func microseconds(_ label: String, rate: Double) -> Figure {
    Figure(label: label, value: 1e6 / rate, unit: "µs", decimals: 2, rate: rate)
  }

  /// Mebibytes of memory. It has no rate.
  static func mebibytes(_ label: String, _ bytes: Int) -> Figure {
    Figure(label: label, value: Double(bytes) / 1_048_576, unit: "MiB", decimals: 1, rate: 0)
  }

  /// Megabytes (10⁶ bytes) per second, where one operation works on `bytes` bytes.
  static func throughput(_ label: String, bytes: Int, rate: Double) -> Figure {
    Figure(label: label, value: rate * Double(bytes) / 1e6, unit: "MB/s", decimals: 0, rate: rate)
  }

  /// Operations per second.
  static func perSecond(_ label: String, rate: Double) -> Figure {
    Figure(label: label, value: rate, unit: "/s", decimals: 0, rate: rate)
  }

  /// One line of JSON; labels and units are our own and need no escaping.
  var json: String {
    #"{"label":"\#(label)","value":\#(value),"unit":"\#(unit)","decimals":\#(decimals),"rate":\#(rate)}"#
  }
}
