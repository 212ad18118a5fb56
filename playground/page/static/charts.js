// Charts: bars, lines, areas and pies, each also readable as words.

import { h, svg } from "./dom.js";

const WIDTH = 560, HEIGHT = 220, LEFT = 46, BOTTOM = 26, TOP = 10;

/** A data_visualization block. */
export function chart(block) {
  const { type } = block.chart;
  const legend = type === "pie" ? block.chart.segments.map((each) => each.label)
    : block.chart.series.map((each) => each.name);
  return h("figure", { class: "chart" },
    h("figcaption", {}, block.title),
    type === "pie" ? pie(block) : xy(block),
    (type === "pie" || legend.length > 1) && h("div", { class: "legend" }, legend.map((name, at) =>
      h("span", { class: `series s${at % 6}` }, h("i"), name))));
}

function words(block) {
  const { chart: told } = block;
  const points = told.type === "pie"
    ? told.segments.map((each) => `${each.label} ${each.value}`)
    : told.series.flatMap((series) => series.data.map((each) => `${series.name}, ${each.label}: ${each.value}`));
  return `${block.title}. ${points.join("; ")}`;
}

function drawing(block, ...children) {
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words(block) }, children);
}

function xy(block) {
  const { type, series, axis_config: axis } = block.chart;
  const values = series.flatMap((each) => each.data.map((point) => point.value));
  const top = nice(Math.max(...values, 0)), low = Math.min(...values, 0) < 0 ? -nice(-Math.min(...values)) : 0;
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (top - low || 1));
  const step = (WIDTH - LEFT) / axis.categories.length;
  const x = (at) => LEFT + step * (at + 0.5);
  const draws = { bar: bars, line: lines, area: areas }[type] ?? bars;
  return drawing(block, grid(low, top, y, axis), labels(axis.categories, x, step), draws(series, x, y, step));
}

function nice(value) {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((each) => each * size).find((each) => each >= value);
}

function grid(low, top, y, axis) {
  const lines = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (top - low));
  return [
    lines.map((value) => svg("g", {},
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)))),
    axis.y_label && svg("title", {}, axis.y_label),
  ];
}

function short(value) {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

function labels(categories, x, step) {
  const every = Math.ceil(categories.length / Math.max(1, Math.floor((WIDTH - LEFT) / Math.max(step, 60))));
  return categories.map((name, at) => (at % every ? null
    : svg("text", { x: x(at), y: HEIGHT - 8, "text-anchor": "middle" }, name)));
}

function bars(series, x, y, step) {
  const width = Math.min(48, (step * 0.72) / series.length);
  return series.map((each, of) => each.data.map((point, at) => {
    const from = x(at) - (width * series.length) / 2 + of * width;
    const [high, foot] = [Math.min(y(point.value), y(0)), Math.max(y(point.value), y(0))];
    return svg("rect", { class: `fill s${of % 6}`, x: from, y: high, width: Math.max(1, width - 2), height: foot - high, rx: 2 },
      svg("title", {}, `${each.name}, ${point.label}: ${point.value}`));
  }));
}

function path(each, x, y) {
  return each.data.map((point, at) => `${at ? "L" : "M"}${x(at)} ${y(point.value)}`).join("");
}

function lines(series, x, y) {
  return series.map((each, of) => [
    svg("path", { class: `line s${of % 6}`, d: path(each, x, y) }),
    each.data.map((point, at) => svg("circle", { class: `fill s${of % 6}`, cx: x(at), cy: y(point.value), r: 3 },
      svg("title", {}, `${each.name}, ${point.label}: ${point.value}`))),
  ]);
}

function areas(series, x, y) {
  return [
    series.map((each, of) => svg("path", {
      class: `area s${of % 6}`,
      d: `${path(each, x, y)}L${x(each.data.length - 1)} ${y(0)}L${x(0)} ${y(0)}Z`,
    })),
    lines(series, x, y),
  ];
}

function pie(block) {
  const { segments } = block.chart;
  const sum = segments.reduce((total, each) => total + each.value, 0);
  const [cx, cy, r] = [WIDTH / 2, HEIGHT / 2, HEIGHT / 2 - 8];
  let angle = -Math.PI / 2;
  const slices = segments.map((each, at) => {
    const turn = (each.value / sum) * 2 * Math.PI;
    const point = (a) => `${cx + r * Math.cos(a)} ${cy + r * Math.sin(a)}`;
    const d = segments.length === 1
      ? `M${cx} ${cy - r}A${r} ${r} 0 1 1 ${cx - 0.01} ${cy - r}Z`
      : `M${cx} ${cy}L${point(angle)}A${r} ${r} 0 ${turn > Math.PI ? 1 : 0} 1 ${point(angle + turn)}Z`;
    angle += turn;
    return svg("path", { class: `fill slice s${at % 6}`, d },
      svg("title", {}, `${each.label}: ${each.value} (${Math.round((100 * each.value) / sum)} %)`));
  });
  return drawing(block, slices);
}
