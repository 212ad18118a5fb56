// The messages of a channel or thread. Each is made once and made again only when it changed; the
// newest are there at once, the older ones follow while the browser is idle. Those far away are not
// laid out, chunk by chunk (content-visibility, in the style sheet), so that thousands stay smooth.

import { blocks } from "./blocks.js";
import { dayName, dayOf, fullTime, momentOf, timeOf } from "./dates.js";
import { shortcuts } from "./composer.js";
import { fixed, h, openMenu, swap, toast } from "./dom.js";
import { act, fileUrl, lastRead, markRead, messagesOf, nameOf, person, store } from "./store.js";
import { emoji, mrkdwn } from "./text.js";

const AT_ONCE = 40, WHILE_IDLE = 50, BREAK_MS = 10, CHUNK = 25, TOGETHER_SECONDS = 300, NEAR_END = 60;

export class MessageList {
  /** `onThread` is called with the timestamp of a message whose thread is to be opened. */
  constructor({ label, onThread }) {
    this.onThread = onThread;
    this.inner = h("div", { class: "inner" });
    this.root = h("div", {
      class: "messages", role: "log", "aria-label": label, tabindex: "0", onscroll: () => this.scrolled(),
    }, this.inner);
    this.nodes = new Map(); // ts -> node
    this.chunks = new Map(); // number -> element; 0 begins with the message that was the anchor
    this.isAtEnd = true;
    new ResizeObserver(() => this.keepEnd()).observe(this.inner);
    new ResizeObserver(() => this.keepEnd()).observe(this.root);
  }

  /** Shows a channel or one of its threads. */
  show(channel, thread = "") {
    this.channel = channel;
    this.thread = thread;
    this.nodes.clear();
    this.chunks.clear();
    this.inner.replaceChildren();
    this.isAtEnd = true;
    this.unreadAfter = thread ? "" : lastRead(channel);
    this.anchor = this.oldest = undefined;
    this.update();
  }

  /** Brings the list up to date. */
  update() {
    const messages = messagesOf(this.channel, this.thread);
    if (this.anchor === undefined && messages.length) {
      this.anchor = this.oldest = messages.at(-AT_ONCE)?.ts ?? messages[0].ts;
    }
    const wanted = new Set(messages.map((each) => each.ts));
    for (const [ts, node] of this.nodes) if (!wanted.has(ts)) this.forget(ts, node);
    this.inner.querySelector(":scope > .empty")?.remove();
    this.draws(messages, indexOf(messages, this.oldest ?? ""), messages.length);
    if (!messages.length) this.inner.append(h("p", { class: "empty" }, "Nothing here yet. Type / to see the commands, or play a story under Try this next."));
    this.keepEnd();
    this.read(messages);
    if (messages[0]?.ts < this.oldest) this.fill();
  }

  forget(ts, node) {
    const chunk = node.parentNode;
    node.remove();
    this.nodes.delete(ts);
    if (!chunk.firstChild) this.drop(chunk);
  }

  drop(chunk) {
    chunk.remove();
    this.chunks.delete(Number(chunk.dataset.number));
  }

  /** Adds older messages while the browser is idle, some at a time, until all are there. */
  fill() {
    if (this.filling) return;
    this.filling = true;
    const later = window.requestIdleCallback ?? ((act) => setTimeout(act, 16));
    later((deadline) => {
      this.filling = false;
      const messages = messagesOf(this.channel, this.thread);
      let from = indexOf(messages, this.oldest ?? "");
      while (from) {
        const to = from;
        from = Math.max(0, to - WHILE_IDLE);
        this.oldest = messages[from].ts;
        // The one after them may now follow another message, or no longer begin a day.
        this.draws(messages, from, Math.min(to + 1, messages.length));
        if (!(deadline?.timeRemaining() > BREAK_MS)) break;
      }
      if (from) this.fill();
    });
  }

  /** Draws a range of the messages. */
  draws(messages, from, to) {
    const replies = repliesOf(this.channel);
    const anchor = indexOf(messages, this.anchor ?? "");
    let chunk = null, before = null;
    for (let at = from; at < to; at += 1) {
      const number = Math.floor((at - anchor) / CHUNK);
      if (chunk?.dataset.number !== String(number)) {
        chunk = this.chunk(number);
        before = null;
      }
      const node = this.node(messages[at], messages[at - 1], replies.get(messages[at].ts) ?? []);
      const place = before ? before.nextSibling : chunk.firstChild;
      const left = node.parentNode;
      if (place !== node) chunk.insertBefore(node, place);
      if (left && left !== chunk && !left.firstChild) this.drop(left);
      before = node;
    }
  }

  /** Messages that stand together, and that the browser does not lay out while they are far away. */
  chunk(number) {
    const known = this.chunks.get(number);
    if (known) return known;
    const fresh = h("div", { class: "chunk", "data-number": String(number) });
    const next = Math.min(...[...this.chunks.keys()].filter((each) => each > number));
    this.inner.insertBefore(fresh, this.chunks.get(next) ?? null);
    this.chunks.set(number, fresh);
    return fresh;
  }

  node(message, previous, replies) {
    const state = [message, previous?.ts !== this.thread && isTogether(previous, message), isNewDay(previous, message),
      this.thread ? 0 : replies.length, replies.at(-1)?.ts, this.isFirstUnread(previous, message)];
    const known = this.nodes.get(message.ts);
    if (known && known.state.every((each, at) => each === state[at])) return known;
    const fresh = this.draw(message, state, replies);
    fresh.state = state;
    this.nodes.set(message.ts, fresh);
    return known ? swap(known, fresh) : fresh;
  }

  isFirstUnread(previous, message) {
    if (!this.unreadAfter || message.ts <= this.unreadAfter || message.user === store.me) return false;
    return previous !== undefined && previous.ts <= this.unreadAfter;
  }

  draw(message, [, together, newDay, , , unread], replies) {
    const day = newDay && h("div", { class: "day" }, h("span", {}, dayName(momentOf(message.ts))));
    return h("div", { class: "item", "data-ts": message.ts },
      day,
      unread && h("div", { class: "new-line" }, h("span", {}, "New")),
      this.message(message, together && !newDay && !unread, replies));
  }

  message(message, together, replies) {
    const author = person(message.user);
    const moment = momentOf(message.ts);
    const isThreadStart = this.thread && message.ts === this.thread;
    const where = { at: { channel: this.channel, message: message.ts } };
    const named = h("div", { class: "who" },
      h("b", {}, nameOf(message.user)),
      author?.is_bot && h("span", { class: "badge" }, "APP"),
      author?.is_guest && h("span", { class: "badge" }, "GUEST"),
      h("time", { datetime: moment.toISOString(), title: fullTime(moment) }, timeOf(moment)));
    return h("article", {
      class: `message${message.only ? " private" : ""}${together ? " together" : ""}`,
      "aria-label": `${nameOf(message.user)}, ${timeOf(moment)}`,
    },
    together ? h("time", { class: "gutter", title: fullTime(moment) }, timeOf(moment)) : face(message.user),
    h("div", { class: "body" },
      message.only && h("div", { class: "only" }, "◉ Only visible to you"),
      !together && named,
      !this.thread && message.thread && h("button", { class: "link soft", onclick: () => this.onThread(message.thread) },
        "replied to a thread"),
      content(message, where),
      reactions(message),
      !this.thread && replies.length > 0 && this.footer(message, replies)),
    !isThreadStart && this.tools(message));
  }

  footer(message, replies) {
    const last = momentOf(replies.at(-1).ts);
    const faces = [...new Set(replies.map((each) => each.user))].slice(0, 4);
    return h("button", { class: "replies", "data-key": `thread ${message.ts}`, onclick: () => this.onThread(message.ts) },
      faces.map((user) => face(user, "tiny")),
      h("b", {}, replies.length === 1 ? "1 reply" : `${replies.length} replies`),
      h("span", { class: "soft" }, `Last reply ${dayName(last)} at ${timeOf(last)}`));
  }

  tools(message) {
    if (message.only || message.deleted) return null;
    const names = shortcuts("message");
    const use = (name) => act("shortcut", { name, channel: this.channel, message: message.ts })
      .catch((error) => toast(error.message));
    return h("div", { class: "tools" },
      !this.thread && h("button", {
        class: "icon", "aria-label": "Reply in thread", "data-key": `reply ${message.ts}`,
        onclick: () => this.onThread(message.thread ?? message.ts),
      }, "Reply"),
      names.length > 0 && h("button", {
        class: "icon", "aria-label": "More actions of this message", "aria-haspopup": "menu", "aria-expanded": "false",
        "data-key": `more ${message.ts}`,
        onclick: (event) => openMenu(event.currentTarget, names.map((name) => [name, () => use(name)])),
      }, "⋯"));
  }

  read(messages) {
    const last = messages.at(-1);
    if (last && !this.thread && !document.hidden) markRead(this.channel, newest(this.channel));
  }

  scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.root;
    this.isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
  }

  keepEnd() {
    if (this.isAtEnd) this.root.scrollTop = this.root.scrollHeight;
  }
}

/** Where a message stands, or would. */
function indexOf(messages, ts) {
  let from = 0, to = messages.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (messages[middle].ts < ts) from = middle + 1;
    else to = middle;
  }
  return from;
}

function newest(channel) {
  let last = "";
  for (const ts of store.channels.get(channel)?.keys() ?? []) if (ts > last) last = ts;
  return last;
}

function repliesOf(channel) {
  const replies = new Map();
  for (const message of store.channels.get(channel)?.values() ?? []) {
    if (!message.thread) continue;
    if (!replies.has(message.thread)) replies.set(message.thread, []);
    replies.get(message.thread).push(message);
  }
  for (const each of replies.values()) each.sort((one, other) => (one.ts < other.ts ? -1 : 1));
  return replies;
}

function isNewDay(previous, message) {
  return !previous || dayOfTs(previous.ts) !== dayOfTs(message.ts);
}

const days = new Map(); // formatting a day takes longer than all else that is asked of a message

function dayOfTs(ts) {
  const key = `${store.me} ${ts.split(".")[0]}`;
  if (!days.has(key)) days.set(key, dayOf(momentOf(ts)));
  return days.get(key);
}

function isTogether(previous, message) {
  return Boolean(previous) && previous.user === message.user && !previous.only && !message.only
    && !previous.thread && Number(message.ts) - Number(previous.ts) < TOGETHER_SECONDS && !message.blocks.length;
}

function content(message, where) {
  if (message.deleted) return h("div", { class: "soft" }, "This message was deleted.");
  return [
    message.blocks.length ? blocks(message.blocks, where)
      : message.text && h("div", { class: "text" }, mrkdwn(message.text)),
    message.edited && !message.blocks.length && h("span", { class: "soft" }, "(edited)"),
    message.files.map(file),
  ];
}

function reactions(message) {
  const all = Object.entries(message.reactions);
  return all.length > 0 && h("div", { class: "reactions" }, all.map(([name, users]) =>
    h("span", { class: "reaction", title: users.map(nameOf).join(", ") }, emoji(name) ?? `:${name}:`, ` ${users.length}`)));
}

function file(each) {
  const link = h("a", { href: fileUrl(each.id), download: each.name }, "Download");
  if (each.picture) {
    return h("figure", {}, h("figcaption", {}, each.title || each.name, " ", link),
      h("img", { class: "picture large", src: fileUrl(each.id), alt: each.title || each.name, loading: "lazy" }));
  }
  const inside = fixed("…");
  return h("details", {
    class: "file",
    ontoggle: async (event) => {
      if (!event.target.open || inside.dataset.loaded) return;
      inside.dataset.loaded = "yes";
      const answer = await fetch(fileUrl(each.id));
      inside.textContent = answer.ok ? await answer.text() : "The file is no longer there.";
    },
  }, h("summary", {}, h("b", {}, each.name), ` ${each.title && each.title !== each.name ? each.title : ""} `,
    h("span", { class: "soft" }, `${each.size.toLocaleString("en")} bytes `), link), inside);
}

const COLOURS = 6;

/** The face of a person: a letter on their colour. */
export function face(user, size = "") {
  const all = store.workspace?.people ?? [];
  const at = all.filter((each) => !each.is_bot).findIndex((each) => each.id === user);
  return h("span", { class: `face ${at < 0 ? "app" : `c${at % COLOURS}`} ${size}`, "aria-hidden": "true" },
    nameOf(user).charAt(0).toUpperCase());
}
