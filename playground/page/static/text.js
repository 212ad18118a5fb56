// Slack's text (mrkdwn, markdown, plain) as nodes. Nothing of it is ever read as HTML.

import { fixed, h } from "./dom.js";
import { fullTime, written } from "./dates.js";
import { nameOf, store } from "./store.js";

const INLINE = new RegExp([
  /`(?<code>[^`\n]+)`/,
  /<(?<token>[^<>\n]+)>/,
  /(?<![\w*])\*(?=\S)(?<b>[^*\n]+?)(?<=\S)\*(?![\w*])/,
  /(?<![\w_])_(?=\S)(?<i>[^_\n]+?)(?<=\S)_(?![\w_])/,
  /(?<![\w~])~(?=\S)(?<s>[^~\n]+?)(?<=\S)~(?![\w~])/,
  /:(?<emoji>[a-z0-9_+-]+):/,
].map((each) => each.source).join("|"), "u");

/** A text object of a block: mrkdwn or plain_text. */
export function textOf(value) {
  return value.type === "mrkdwn" ? mrkdwn(value.text) : plain(value.text);
}

/** Text without markup, with emoji. */
export function plain(text) {
  return unescaped(text).split("\n").flatMap((line, at) => [...(at ? [h("br")] : []), ...emojis(line)]);
}

/** Mrkdwn: bold, italic, struck, code, quotes, links, mentions, dates, emoji. */
export function mrkdwn(text) {
  const parts = text.split(/```\n?([\s\S]*?)\n?```/);
  return parts.flatMap((part, at) => (at % 2 ? [fixed(unescaped(part))] : paragraphs(part)));
}

/** Markdown, as far as a markdown block needs it. */
export function markdown(text) {
  return mrkdwn(text
    .replace(/^#{1,6} +(.+)$/gm, "*$1*")
    .replace(/\[([^\]]+)\]\((https?:\/\/[^)\s]+)\)/g, "<$2|$1>")
    .replace(/\*\*(.+?)\*\*/g, "*$1*"));
}

function paragraphs(text) {
  const nodes = [];
  let quoted = null;
  const lines = text.replace(/^\n|\n$/g, "").split("\n");
  if (lines.length === 1 && !lines[0]) return nodes;
  lines.forEach((line, at) => {
    const quote = /^(?:&gt;|>) ?(.*)$/.exec(line);
    if (quote) {
      if (!quoted) nodes.push((quoted = h("blockquote")));
      else quoted.append(h("br"));
      quoted.append(...inline(quote[1]));
      return;
    }
    if (at && !quoted) nodes.push(h("br"));
    quoted = null;
    nodes.push(...inline(line));
  });
  return nodes;
}

function inline(text) {
  const nodes = [];
  for (let rest = text; rest;) {
    const found = INLINE.exec(rest);
    if (!found) return [...nodes, unescaped(rest)];
    nodes.push(unescaped(rest.slice(0, found.index)));
    const [kind, inner] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    nodes.push(...MARKS[kind](inner, found[0]));
    rest = rest.slice(found.index + found[0].length);
  }
  return nodes;
}

const MARKS = {
  code: (inner) => [h("code", {}, ...codeParts(inner))],
  token: (inner) => [token(inner)],
  b: (inner) => [h("b", {}, ...inline(inner))],
  i: (inner) => [h("i", {}, ...inline(inner))],
  s: (inner) => [h("s", {}, ...inline(inner))],
  emoji: (inner, whole) => [emoji(inner) ?? whole],
};

/** Inside code only links and mentions are read, as Slack does it. */
function codeParts(text) {
  return text.split(/<([^<>]+)>/).map((part, at) => (at % 2 ? token(part) : unescaped(part)));
}

function token(inner) {
  const [target, label = ""] = split(inner);
  if (target.startsWith("@")) return mention("@", target.slice(1));
  if (target.startsWith("#")) return mention("#", target.slice(1));
  if (target.startsWith("!subteam^")) return mention("@", target.slice(9));
  if (target.startsWith("!date^")) return dated(target, label);
  if (target.startsWith("!")) return h("span", { class: "mention me" }, `@${target.slice(1)}`);
  return link(target, label) ?? unescaped(`<${inner}>`);
}

function split(inner) {
  const at = inner.indexOf("|");
  return at < 0 ? [inner] : [inner.slice(0, at), inner.slice(at + 1)];
}

/** A link, for addresses that may be followed; else null. */
export function link(target, label = "") {
  const url = unescaped(target);
  if (!/^(https?:\/\/|mailto:)/i.test(url)) return null;
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, unescaped(label || target));
}

export function mention(sign, id) {
  const isMe = id === store.me;
  return h("span", { class: `mention${isMe ? " me" : ""}` }, `${sign}${nameOf(id)}`);
}

function dated(target, label) {
  const [, seconds, form = "", url] = target.split("^");
  return date(seconds, form, label, url);
}

/** A date in the zone of the reader. */
export function date(seconds, form, fallback, url) {
  if (!/^\d+$/.test(String(seconds))) return unescaped(fallback);
  const moment = new Date(Number(seconds) * 1000);
  const shown = h("time", { datetime: moment.toISOString(), title: fullTime(moment) },
    written(seconds, unescaped(form)) || unescaped(fallback));
  return url && link(url) ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, shown) : shown;
}

function emojis(text) {
  return text.split(/:([a-z0-9_+-]+):/).map((part, at) => (at % 2 ? emoji(part) ?? `:${part}:` : part));
}

/** An emoji by its name, as a sign that plain fonts have; null if nobody knows it here. */
export function emoji(name) {
  const found = store.workspace?.emoji[name];
  if (!found) return null;
  const sign = h("span", { class: "emoji", role: "img", "aria-label": name.replaceAll("_", " ") }, found[0]);
  sign.style.color = found[1];
  return sign;
}

export function unescaped(text) {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
