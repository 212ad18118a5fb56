// Rich text as nodes.

import { fixed, h } from "./dom.js";
import { date, emoji, link, mention } from "./text.js";

/** The parts of a rich_text block. */
export function richText(block) {
  return block.elements.map((part) => PARTS[part.type]?.(part) ?? "");
}

const PARTS = {
  rich_text_section: (part) => h("div", {}, part.elements.map(inline)),
  rich_text_preformatted: (part) => fixed(part.elements.map(inline)),
  rich_text_quote: (part) => h("blockquote", {}, part.elements.map(inline)),
  rich_text_list: (part) => {
    const list = h(part.style === "ordered" ? "ol" : "ul", { start: part.offset ? part.offset + 1 : null },
      part.elements.map((item) => h("li", {}, item.elements.map(inline))));
    list.style.marginInlineStart = `${(part.indent ?? 0) * 24}px`;
    return list;
  },
};

const INLINE = {
  text: (part) => part.text.split("\n").flatMap((line, at) => [...(at ? [h("br")] : []), line]),
  link: (part) => link(part.url, part.text) ?? part.text ?? part.url,
  user: (part) => mention("@", part.user_id),
  usergroup: (part) => mention("@", part.usergroup_id),
  channel: (part) => mention("#", part.channel_id),
  broadcast: (part) => h("span", { class: "mention me" }, `@${part.range}`),
  emoji: (part) => emoji(part.name) ?? `:${part.name}:`,
  color: (part) => part.value,
  date: (part) => date(part.timestamp, part.format, part.fallback ?? "", part.url),
};

function inline(part) {
  let shown = [INLINE[part.type]?.(part) ?? ""].flat();
  for (const [style, tag] of [["bold", "b"], ["italic", "i"], ["strike", "s"], ["code", "code"]]) {
    if (part.style?.[style]) shown = [h(tag, {}, shown)];
  }
  return shown;
}
