// Bar charts. Each is one picture for those who hear the page; the numbers stand in a table.

import { bars as barsOf, peak, stepWords } from "./data.js";
import { el, mark, svg } from "./dom.js";
import { table } from "./table.js";
import * as words from "./words.js";

const SMALL = { width: 180, height: 44 };
const LARGE_HEIGHT = 260;
const MARGIN = { top: 22, right: 4, bottom: 26 };

/** Widths of text at the size of the chart's labels, on the safe side, in pixels. */
const CHARACTER = 7;
const DAY_LABEL = 44;
const DAY_ROOM = 64;

/** What a chart shows, in a sentence. */
function summary(title, list, period) {
  const sum = list.reduce((all, bar) => all + bar.value, 0);
  const most = peak(list);
  const detail = most ? `, at most ${words.count(most.value)} (${words.span(most)})` : "";
  return `${title} ${stepWords(list)}: ${words.count(sum)} ${period.words}${detail}`;
}

/** The numbers of a chart. */
function numbers(caption, list) {
  const unit = list[0].first === list[0].last ? "Day" : "Days";
  const rows = list.map((bar) => [words.span(bar), words.count(bar.value)]);
  return table(caption, [{ label: unit }, { label: "Count", numeric: true }], rows);
}

/** A small chart without labels, with a table for those who cannot see it. */
export function small(title, items, period) {
  const list = barsOf(items, period);
  const text = summary(title, list, period);
  const { width, height } = SMALL;
  const picture = svg("svg", {
    class: "chart small", role: "img", "aria-label": text, width, height,
    viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none",
  }, drawBars(list, { left: 0, right: width, top: 0, bottom: height - 1 }, highest(list)),
  svg("rect", { class: "axis", x: 0, y: height - 1, width, height: 1 }));
  return [picture, el("div", { class: "visually-hidden" }, numbers(text, list))];
}

/** A large chart with labels. It is drawn for the width it has, and again when that changes. */
export function large(title, items, period) {
  const list = barsOf(items, period);
  const box = el("div", { class: "chart-box" });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(box.clientWidth);
    if (width > 0 && width !== drawn) {
      drawn = width;
      box.replaceChildren(draw(title, list, period, width));
    }
  }).observe(box);
  return [
    box,
    el("details", { class: "numbers" },
      el("summary", {}, `Numbers ${stepWords(list)}`),
      numbers(`${title} ${stepWords(list)}`, list)),
  ];
}

function draw(title, list, period, width) {
  const scale = ticks(highest(list));
  const top = scale.at(-1);
  const margin = Math.max(...scale.map((tick) => words.compact(tick).length)) * CHARACTER + 12;
  const frame = {
    left: margin, right: width - MARGIN.right,
    top: MARGIN.top, bottom: LARGE_HEIGHT - MARGIN.bottom,
  };
  return svg("svg", {
    class: "chart", role: "img", "aria-label": summary(title, list, period), width,
    height: LARGE_HEIGHT, viewBox: `0 0 ${width} ${LARGE_HEIGHT}`,
  },
  scale.map((tick) => gridLine(tick, yOf(tick, top, frame), frame)),
  drawBars(list, frame, top),
  dayLabels(list, frame),
  valueLabels(list, frame, top));
}

function gridLine(tick, y, frame) {
  return [
    svg("rect", {
      class: tick === 0 ? "axis" : "grid", x: frame.left, y: y - (tick === 0 ? 0 : 1),
      width: frame.right - frame.left, height: 1,
    }),
    mark(words.compact(tick), frame.left - 8, y + 4, "tick-y"),
  ];
}

function drawBars(list, frame, top) {
  return list.map((bar, at) => {
    const band = bandOf(at, list.length, frame);
    const y = bar.value === 0 ? frame.bottom : Math.min(yOf(bar.value, top, frame), frame.bottom - 2);
    return svg("g", { class: "bar" },
      svg("title", {}, `${words.span(bar)}: ${words.count(bar.value)}`),
      svg("rect", {
        class: "reach", x: band.start, y: frame.top, width: band.width,
        height: frame.bottom - frame.top,
      }),
      svg("rect", {
        class: "value", x: band.start + band.inset, y, width: band.thickness,
        height: frame.bottom - y,
      }));
  });
}

/** As many day labels as fit, counted back from the last day. */
function dayLabels(list, frame) {
  const room = (frame.right - frame.left) / list.length;
  const every = Math.max(1, Math.ceil(DAY_ROOM / room));
  const shown = list.filter((_, at) => (list.length - 1 - at) % every === 0);
  return shown.map((bar) => {
    const at = list.indexOf(bar);
    const band = bandOf(at, list.length, frame);
    const half = DAY_LABEL / 2;
    const middle = band.start + band.width / 2;
    const x = Math.min(Math.max(middle, half), frame.right + MARGIN.right - half);
    return mark(words.day(bar.first), x, LARGE_HEIGHT - 8, "tick-x");
  });
}

/** The value above each bar, where all of them fit. */
function valueLabels(list, frame, top) {
  const longest = Math.max(...list.map((bar) => words.compact(bar.value).length));
  const room = (frame.right - frame.left) / list.length;
  if (longest * CHARACTER + 4 > room) {
    return [];
  }
  return list.map((bar, at) => {
    const band = bandOf(at, list.length, frame);
    return bar.value === 0 ? null : mark(words.compact(bar.value), band.start + band.width / 2,
      Math.min(yOf(bar.value, top, frame), frame.bottom - 2) - 6, "bar-value");
  });
}

/** The place of a bar, on whole pixels so that its edges are sharp. */
function bandOf(at, length, frame) {
  const edge = (number) => Math.round(frame.left + (number * (frame.right - frame.left)) / length);
  const width = edge(at + 1) - edge(at);
  const space = width >= 24 ? 2 * Math.round(width * 0.16) : Math.min(4, Math.floor(width / 3));
  return { start: edge(at), width, inset: Math.floor(space / 2), thickness: width - space };
}

const yOf = (value, top, frame) =>
  Math.round(frame.bottom - ((frame.bottom - frame.top) * value) / top);

const highest = (list) => Math.max(1, ...list.map((bar) => bar.value));

/** Round numbers from 0 to above the highest value, about four of them. */
function ticks(most) {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].find((factor) => factor * power >= rough) * power);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, at) => at * step);
}
