// Channels, direct messages, and who one is.

import { h, refill } from "./dom.js";
import { face } from "./messages.js";
import { lastRead, store, waitingFor } from "./store.js";

/** Draws the list of channels; `go` opens one. */
export function drawSidebar(root, go) {
  const { workspace } = store;
  if (!workspace) return;
  const channels = workspace.channels.filter((each) => !each.is_direct);
  const direct = workspace.channels.filter((each) => each.is_direct);
  refill(root,
    h("div", { class: "workspace" }, "Acme"),
    group("Channels", channels, go),
    group("Apps", direct, go));
}

function group(title, channels, go) {
  if (!channels.length) return null;
  return [h("h2", {}, title), h("ul", {}, channels.map((each) => h("li", {}, entry(each, go))))];
}

function entry(channel, go) {
  const isHere = store.place.channel === channel.id;
  const { unread, calls } = isHere && document.hasFocus() ? { unread: 0, calls: 0 } : counts(channel);
  const name = channel.is_direct ? store.workspace.app.name : channel.name;
  const told = [name, calls ? `${calls} unread mentions` : unread ? "unread" : ""].filter(Boolean).join(", ");
  return h("button", {
    class: `place${unread ? " unread" : ""}`, "data-key": channel.id, "aria-current": isHere ? "page" : null,
    "aria-label": told, onclick: () => go(channel.id),
  },
  channel.is_direct ? face(store.workspace.app.user, "tiny") : h("span", { class: "sign" }, channel.is_private ? "◆" : "#"),
  h("span", { class: "name" }, name),
  channel.is_shared && h("span", { class: "soft", title: "Shared with another company" }, "⇄"),
  channel.is_archived && h("span", { class: "soft" }, "archived"),
  calls > 0 && h("span", { class: "count" }, calls));
}

function counts(channel) {
  const after = lastRead(channel.id);
  let unread = 0, calls = 0;
  for (const message of store.channels.get(channel.id)?.values() ?? []) {
    if (message.ts <= after || message.user === store.me) continue;
    if (message.notified.includes(store.me)) calls += 1;
    if (!message.thread || message.broadcast) unread += 1;
  }
  return { unread: unread + calls, calls };
}

/** Draws the people one can be; `become` makes one of them who one is. */
export function drawPeople(root, become) {
  const people = (store.workspace?.people ?? []).filter((each) => !each.is_bot && !each.is_gone);
  refill(root, people.map((each) => {
    const isMe = each.id === store.me;
    const waiting = isMe ? 0 : waitingFor(each.id);
    const kind = each.is_stranger ? ", of another company" : each.is_guest ? ", a guest" : "";
    return h("button", {
      class: "person", "aria-pressed": String(isMe), "data-key": each.id,
      "aria-label": `${each.real_name}${kind}${waiting ? `, ${waiting} unread mentions` : ""}`,
      title: `${each.real_name}${kind}, ${each.zone.replaceAll("_", " ")}`,
      onclick: () => become(each.id),
    }, face(each.id, "small"), h("span", { class: "name" }, each.name), waiting > 0 && h("span", { class: "count" }, waiting));
  }));
}
