// Where people write: slash commands with their hints, mentions, and messages.

import { h, openMenu, toast, uniqueId } from "./dom.js";
import { act, channelOf, store } from "./store.js";
import { workflows } from "./workflows.js";

/** A field for messages to a place ({channel, thread}); it empties itself when they are sent. */
export class Composer {
  constructor(place) {
    this.place = place;
    this.listId = uniqueId();
    this.drafts = new Map();
    this.list = h("ul", {
      class: "suggestions", id: this.listId, role: "listbox", "aria-label": "Suggestions", tabindex: "0", hidden: true,
      onblur: () => this.close(),
    });
    this.area = h("textarea", {
      rows: 1, class: "write", "aria-autocomplete": "list", "aria-haspopup": "listbox",
      "aria-controls": this.listId,
      oninput: () => { this.grow(); this.suggest(); },
      onkeydown: (event) => this.pressed(event),
      onblur: () => setTimeout(() => { if (document.activeElement !== this.list) this.close(); }, 150),
    });
    this.note = h("div", { class: "soft note" });
    this.plus = h("button", {
      class: "icon plus", "aria-label": "Shortcuts", "aria-haspopup": "menu", "aria-expanded": "false", hidden: true,
      onclick: () => openMenu(this.plus, [...shortcuts("global").map((name) =>
        [name, () => act("shortcut", { name }).catch((error) => toast(error.message))]), ...workflows()]),
    }, "+");
    this.send = h("button", { class: "button primary", onclick: () => this.sends() }, "Send");
    this.root = h("div", {
      class: "composer", ondragover: (event) => event.preventDefault(), ondrop: (event) => this.drops(event),
    }, this.list,
      h("div", { class: "box" }, this.plus, this.area, this.send), this.note);
  }

  /** Shows the draft of another place. */
  move() {
    const { channel, thread } = this.place();
    const key = `${store.me} ${channel} ${thread}`;
    if (key !== this.key) {
      this.drafts.set(this.key, this.area.value);
      this.area.value = this.drafts.get(key) ?? "";
      this.key = key;
      this.close();
      this.grow();
    }
    const there = channelOf(channel);
    const app = store.workspace?.app;
    this.plus.hidden = Boolean(thread) || !(shortcuts("global").length + workflows().length);
    const isClosed = there?.is_archived || (there?.is_direct && !app?.takes_messages);
    const where = there?.is_direct ? app?.name : `#${there?.name ?? ""}`;
    this.area.disabled = this.send.disabled = Boolean(isClosed) || !there;
    this.area.placeholder = isClosed ? "Messages are turned off here."
      : thread ? "Reply…" : `Message ${where}, or / for commands`;
    this.area.setAttribute("aria-label", thread ? "Reply in the thread" : `Message ${where}`);
  }

  /** Puts a text there, for the person to send. */
  fill(text) {
    this.area.value = text;
    this.grow();
    this.area.focus();
    this.suggest();
  }

  grow() {
    this.area.style.height = "";
    if (this.area.value) this.area.style.height = `${Math.min(this.area.scrollHeight, 220)}px`;
  }

  async sends() {
    const text = this.area.value.trim();
    if (!text) return;
    const { channel, thread } = this.place();
    this.area.value = "";
    this.suggest();
    this.grow();
    try {
      const invited = /^\/invite\s+@?(\S+)/.exec(text);
      if (invited) await act("invite", { channel });
      else await act("write", { channel, thread: thread || undefined, text });
    } catch (error) {
      toast(error.message);
      if (!this.area.value) this.fill(text);
    }
  }

  /** Posts the files that were dropped here, with what is written as their message. */
  async drops(event) {
    event.preventDefault();
    const dropped = [...event.dataTransfer.files];
    if (!dropped.length || this.area.disabled) return;
    const { channel, thread } = this.place();
    try {
      const files = await Promise.all(dropped.map(async (each) => ({ name: each.name, content: await base64(each) })));
      await act("drop", { channel, thread: thread || undefined, text: this.area.value.trim(), files });
      this.area.value = "";
      this.grow();
    } catch (error) {
      toast(error.message);
    }
  }

  // Suggestions

  suggest() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    const command = /^\/\S*$/.exec(before);
    const name = /(?:^|\s)([@#])([\w.-]*)$/.exec(before);
    const typed = /^(\/\S+)\s/.exec(before);
    const known = typed && store.workspace.commands.find((each) => each.name === typed[1]);
    this.note.textContent = known ? `${known.name} ${known.hint}` : "";
    if (command) this.offer(commands(command[0]), before.length - command[0].length);
    else if (name) this.offer(names(name[1], name[2]), before.length - name[2].length - 1);
    else this.close();
  }

  offer(found, from) {
    this.found = found;
    this.from = from;
    if (!found.length) return this.close();
    this.list.replaceChildren(...found.map((each, at) => h("li", {
      role: "option", id: `${this.listId}-${at}`, "aria-selected": "false",
      onpointerdown: (event) => { event.preventDefault(); this.take(at); },
    }, h("b", {}, each.label), h("span", { class: "soft" }, each.hint), each.about && h("div", { class: "soft about" }, each.about))));
    this.list.hidden = false;
    this.choose(0);
  }

  choose(at) {
    this.at = (at + this.found.length) % this.found.length;
    [...this.list.children].forEach((item, each) => item.setAttribute("aria-selected", String(each === this.at)));
    this.area.setAttribute("aria-activedescendant", `${this.listId}-${this.at}`);
    this.list.children[this.at].scrollIntoView({ block: "nearest" });
  }

  take(at) {
    const { text } = this.found[at];
    const after = this.area.value.slice(this.area.selectionStart);
    const before = `${this.area.value.slice(0, this.from)}${text} `;
    this.area.value = before + after;
    this.area.setSelectionRange(before.length, before.length);
    this.area.focus();
    this.suggest();
  }

  close() {
    this.list.hidden = true;
    this.found = [];
    this.area.removeAttribute("aria-activedescendant");
  }

  pressed(event) {
    if (event.isComposing) return;
    const isOpen = !this.list.hidden;
    const isWhole = isOpen && this.area.value.slice(this.from).trim() === this.found[this.at]?.text;
    if (isOpen && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.choose(this.at + (event.key === "ArrowDown" ? 1 : -1));
    } else if (isOpen && event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.close();
    } else if (isOpen && (event.key === "Tab" || (event.key === "Enter" && !isWhole)) && !event.shiftKey) {
      event.preventDefault();
      this.take(this.at);
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.sends();
    }
  }
}

/** The names of the app's shortcuts in one of Slack's menus. */
export function shortcuts(kind) {
  return (store.workspace?.shortcuts ?? []).filter((each) => each.kind === kind).map((each) => each.name);
}

function commands(start) {
  return store.workspace.commands.filter((each) => each.name.startsWith(start.toLowerCase()))
    .map((each) => ({ label: each.name, text: each.name, hint: each.hint, about: each.description }));
}

function names(sign, start) {
  const { people, groups, channels } = store.workspace;
  const all = sign === "#"
    ? channels.filter((each) => !each.is_direct).map((each) => [each.name, ""])
    : [...people.filter((each) => !each.is_gone).map((each) => [each.handle, each.real_name]),
      ...groups.map((each) => [each.name, "group"])];
  return all.filter(([name, real]) => [name, real].some((each) => each.toLowerCase().startsWith(start.toLowerCase())))
    .map(([name, about]) => ({ label: `${sign}${name}`, text: `${sign}${name}`, hint: about }));
}

/** The content of a file as text in base64. */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",", 2)[1]);
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}
