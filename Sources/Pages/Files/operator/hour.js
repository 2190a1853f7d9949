// From the bottom up, so that errors stand on the axis.
const outcomes = ["error", "deny", "allow"];
let bars = null;

function svg(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// The bars are made once. Later only their heights change.
function makeBars(count) {
  for (const y of [0, 50, 100]) $("plot").append(svg("line", { x1: 0, x2: 600, y1: y, y2: y }));
  const width = 600 / count;
  bars = Array.from({ length: count }, (_, index) => Object.fromEntries(outcomes.map((outcome) => {
    const bar = svg("rect", { "data-decision": outcome, x: index * width + 1, width: width - 2, y: 100, height: 0 });
    $("plot").append(bar);
    return [outcome, bar];
  })));
}

// Rules that the configuration no longer has, or never had, are counted together.
const nameOfRule = (rule) => (rule === "_other" ? "a former rule" : rule ?? "");

function showHour({ last_hour: hour }) {
  const minutes = hour.minutes;
  if (bars === null) makeBars(minutes.length);
  const totals = minutes.map((minute) => minute.allow + minute.deny + minute.error);
  const peak = Math.max(...totals);
  minutes.forEach((minute, index) => {
    let y = 100;
    for (const outcome of outcomes) {
      const height = peak > 0 ? (minute[outcome] / peak) * 100 : 0;
      y -= height;
      bars[index][outcome].setAttribute("y", y.toFixed(2));
      bars[index][outcome].setAttribute("height", height.toFixed(2));
    }
  });
  const label = peak > 0 ? `peak: ${count(peak)} a minute` : "no decisions yet";
  put($("first-minute"), minuteOf(minutes[0].start));
  put($("peak"), label);
  $("plot").setAttribute("aria-label", `Decisions in each minute of the last hour, ${label}`);
  table("shares", hour.decisions.map((share) => [
    { badge: share.decision, tone: tones[share.decision] }, share.code ?? "", nameOfRule(share.rule), { number: count(share.count) },
  ]), 4, "none yet");
  table("minutes", minutes.filter((_, index) => totals[index] > 0).reverse().map((minute) => [
    minuteOf(minute.start), { number: count(minute.allow) }, { number: count(minute.deny) }, { number: count(minute.error) },
  ]), 4, "none yet");
}
