// Tables; those of data have pages, and are sorted by a click on a heading.

import { h, refill } from "./dom.js";
import { richText } from "./rich.js";

const PAGE_SIZE = 5;

/** A table block. */
export function table(block) {
  const [header, ...rows] = block.rows;
  const aligns = (block.column_settings ?? []).map((each) => each?.align);
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" },
    h("table", {},
      h("thead", {}, h("tr", {}, header.map((cell, at) => h("th", { scope: "col", class: align(cell, aligns[at]) }, shown(cell))))),
      h("tbody", {}, rows.map((row) => row_(row, aligns)))));
}

function row_(row, aligns, header) {
  return h("tr", {}, row.map((cell, at) => (at === header
    ? h("th", { scope: "row", class: align(cell, aligns[at]) }, shown(cell))
    : h("td", { class: align(cell, aligns[at]) }, shown(cell)))));
}

function align(cell, wanted) {
  return wanted ?? (cell.type === "raw_number" ? "right" : "left");
}

function shown(cell) {
  return cell.type === "rich_text" ? richText(cell) : String(cell.text ?? cell.value ?? "");
}

/** A data_table block. */
export function dataTable(block) {
  const [header, ...rows] = block.rows;
  const size = block.page_size ?? PAGE_SIZE;
  let first = 0;
  let sorted = { column: -1, down: false };
  const root = h("div", { class: "data-table" });
  const turn = (to) => { first = to; draw(); };
  const sort = (column) => {
    sorted = { column, down: sorted.column === column && !sorted.down };
    turn(0);
  };
  const draw = () => {
    const ordered = sorted.column < 0 ? rows : [...rows].sort((one, other) =>
      (sorted.down ? -1 : 1) * compared(one[sorted.column], other[sorted.column]));
    const page = ordered.slice(first, first + size);
    const last = first + page.length;
    refill(root,
      h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": block.caption },
        h("table", {},
          h("caption", {}, block.caption),
          h("thead", {}, h("tr", {}, header.map((cell, at) => h("th", {
            scope: "col", class: rows[0] ? align(rows[0][at]) : "left",
            "aria-sort": sorted.column === at ? (sorted.down ? "descending" : "ascending") : null,
          }, h("button", { class: "sort", "data-key": `sort${at}`, onclick: () => sort(at) },
            shown(cell), sorted.column === at ? (sorted.down ? " ▾" : " ▴") : ""))))),
          h("tbody", {}, page.map((row) => row_(row, [], block.row_header_column_index))))),
      h("div", { class: "pages" },
        `${rows.length ? first + 1 : 0}-${last} of ${rows.length}`,
        rows.length > size && [
          h("button", { class: "icon", "aria-label": "Previous rows", "data-key": "previous",
            disabled: first === 0, onclick: () => turn(Math.max(0, first - size)) }, "‹"),
          h("button", { class: "icon", "aria-label": "Next rows", "data-key": "next",
            disabled: last >= rows.length, onclick: () => turn(last) }, "›"),
        ]));
  };
  draw();
  return root;
}

function compared(one, other) {
  if (one.type === "raw_number" && other.type === "raw_number") return one.value - other.value;
  return text(one).localeCompare(text(other), "en", { numeric: true });
}

function text(cell) {
  return cell.type === "rich_text" ? h("div", {}, richText(cell)).textContent : String(cell.text ?? cell.value);
}
