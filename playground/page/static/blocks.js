// Blocks as Slack lays them out; `where` says where a control stands: in a message or in a view.

import { chart } from "./charts.js";
import { control, field } from "./controls.js";
import { h } from "./dom.js";
import { richText } from "./rich.js";
import { fileUrl } from "./store.js";
import { dataTable, table } from "./tables.js";
import { markdown, mrkdwn, plain, textOf } from "./text.js";

/** All blocks of a message or view. */
export function blocks(list, where) {
  return list.map((block) => (BLOCKS[block.type] ?? unknown)(block, where));
}

const BLOCKS = {
  section,
  header: (block) => h("h3", {}, plain(block.text.text)),
  context: (block, where) => h("div", { class: "context" },
    block.elements.map((each) => contextPart(each, block, where))),
  actions: (block, where) => h("div", { class: "actions" },
    block.elements.map((each) => control(each, block, where))),
  divider: () => h("hr"),
  image: imageBlock,
  markdown: (block) => h("div", { class: "text" }, markdown(block.text)),
  rich_text: (block) => h("div", { class: "text" }, richText(block)),
  table,
  data_table: dataTable,
  data_visualization: chart,
  input: field,
  alert: (block) => h("div", { class: `alert ${block.level ?? "default"}` }, textOf(block.text)),
  task_card: task,
  file: (block) => h("div", { class: "context" }, `file ${block.external_id ?? ""}`),
};

function unknown(block) {
  return h("div", { class: "alert warning" }, `The page cannot show a block ${block.type}.`);
}

function section(block, where) {
  return h("div", { class: "section" },
    h("div", { class: "grow" },
      block.text && h("div", { class: "text" }, textOf(block.text)),
      block.fields && h("div", { class: "fields" }, block.fields.map((each) => h("div", {}, textOf(each))))),
    block.accessory && (block.accessory.type === "image"
      ? picture(block.accessory, "thumbnail") : control(block.accessory, block, where)));
}

function contextPart(element) {
  if (element.type === "image") return picture(element, "small");
  return h("span", {}, element.type === "mrkdwn" ? mrkdwn(element.text) : plain(element.text));
}

function imageBlock(block) {
  return h("figure", {},
    block.title && h("figcaption", {}, textOf(block.title)),
    picture(block, "large"));
}

/** A picture: an uploaded file; one from elsewhere is not loaded, but linked. */
function picture(image, size) {
  if (image.slack_file?.id) {
    return h("img", { class: `picture ${size}`, src: fileUrl(image.slack_file.id), alt: image.alt_text, loading: "lazy" });
  }
  return h("a", {
    class: `picture ${size} elsewhere`, href: image.image_url, target: "_blank", rel: "noopener noreferrer",
    title: "The page loads nothing from elsewhere; open the picture in a tab.",
  }, image.alt_text);
}

function task(block) {
  const sign = { complete: "✔", error: "✖" }[block.status] ?? "◔";
  return h("div", { class: `task ${block.status}` }, `${sign} ${block.title}`,
    block.details && h("div", { class: "text" }, richText(block.details)),
    block.output && h("div", { class: "text" }, richText(block.output)));
}
