// The page: who one is, where one is, and what is drawn anew when something comes.

import { Prompts } from "./agent.js";
import { blocks } from "./blocks.js";
import { Composer } from "./composer.js";
import { dayName, now, timeOf } from "./dates.js";
import { h, refill, toast } from "./dom.js";
import "./forms.js";
import { MessageList } from "./messages.js";
import { Outside } from "./outside.js";
import { Tour } from "./tour.js";
import { drawPeople, drawSidebar } from "./sidebar.js";
import { act, become, channelOf, me, nameOf, on, store } from "./store.js";

const $ = (id) => document.getElementById(id);
const list = new MessageList({ label: "Messages", onThread: (ts) => go(store.place.channel, ts) });
const replies = new MessageList({ label: "Replies", onThread: () => {} });
const composer = new Composer(() => ({ channel: store.place.channel, thread: "" }));
const answer = new Composer(() => store.place);
const prompts = new Prompts(({ channel, ts }) => { if (channel === store.place.channel) go(channel, ts); });
const caption = h("div", { class: "caption", role: "status", hidden: true });
const tour = new Tour({
  caption,
  fill: (text) => { go(store.place.channel); composer.fill(text); },
  follow: ({ person, channel, thread }) => {
    if (person !== store.me) switchTo(person, channel, thread);
    else if (channel !== store.place.channel || thread !== store.place.thread) go(channel, thread);
  },
});
const outside = new Outside($("outside"), tour.list);
const title = h("header", { class: "title" });
const tabs = h("div", { class: "tabs", role: "tablist", hidden: true });
const home = h("div", { class: "home", role: "tabpanel", "aria-label": "Home", hidden: true });
let isBuilt = false;

function build() {
  isBuilt = true;
  $("conversation").replaceChildren(title, tabs, home, list.root, caption, prompts.root, composer.root);
  $("thread").replaceChildren(
    h("header", { class: "title" }, h("h2", {}, "Thread"),
      h("button", { class: "icon", "aria-label": "Close the thread", onclick: () => go(store.place.channel) }, "✕")),
    replies.root, answer.root);
}

// Where one is: #person/channel/thread, so that reloading and going back work

function readAddress() {
  const [user, channel = "", thread = ""] = decodeURIComponent(location.hash.slice(1)).split("/");
  return { user: user || sessionStorage.getItem("me") || "U0ALICE", channel, thread };
}

function writeAddress() {
  const { channel, thread } = store.place;
  const wanted = `#${[store.me, channel, thread].filter(Boolean).join("/")}`;
  if (location.hash !== wanted) history.pushState(null, "", wanted);
}

addEventListener("popstate", () => {
  const { user, channel, thread } = readAddress();
  if (user !== store.me) switchTo(user, channel, thread);
  else go(channel, thread);
});

function switchTo(user, channel = store.place.channel, thread = "") {
  if (user === store.me) return;
  sessionStorage.setItem("me", user);
  store.place = { channel, thread, tab: "" };
  become(user);
  writeAddress();
}

/** Opens a channel, and a thread in it. */
export function go(channel, thread = "", tab = "") {
  const before = store.place;
  store.place = { channel, thread, tab };
  document.body.classList.remove("sidebar-open");
  if (channel !== before.channel || tab !== before.tab) list.show(channel);
  showThread();
  drawPlace();
  writeAddress();
  if (channel !== before.channel || tab !== before.tab) visitApp();
}

/** Tells the app that its direct messages are opened, or its Home. */
function visitApp() {
  const { channel, tab } = store.place;
  if (!channelOf(channel)?.is_direct) return;
  act("home", { tab: tab || "messages" }).catch((error) => { if (tab) toast(error.message); });
}

function showThread() {
  const { channel, thread } = store.place;
  const panel = $("thread");
  const isNew = thread && (panel.hidden || replies.thread !== thread || replies.channel !== channel);
  panel.hidden = !thread;
  document.body.classList.toggle("with-thread", Boolean(thread));
  if (isNew) {
    replies.show(channel, thread);
    answer.move();
    answer.area.focus();
  }
}

// What is drawn when something comes

on("begin", ({ turn }) => {
  isBuilt = false;
  if (!turn) $("conversation").replaceChildren(h("p", { class: "loading" }, "Setting up the workspace…"));
});

on("workspace", () => {
  if (!me()) return switchTo(store.workspace.people.find((each) => !each.is_bot).id);
  const isThere = channelOf(store.place.channel);
  if (!isThere) store.place = { channel: firstChannel(), thread: "", tab: "" };
  if (!isBuilt) {
    build();
    list.show(store.place.channel);
    replies.thread = undefined;
    showThread();
    visitApp();
  }
  document.documentElement.style.setProperty("--app", store.workspace.app.colour || "#4a154b");
  drawPlace();
});

function firstChannel() {
  return (store.workspace.channels.find((each) => !each.is_direct) ?? store.workspace.channels[0])?.id ?? "";
}

on("messages", ({ channel }) => {
  if (!isBuilt) return;
  if (channel === store.place.channel) {
    if (list.nodes.size || list.channel !== channel) list.update();
    else list.show(channel);
    if (store.place.thread) replies.update();
  }
  drawNames();
});

on("prompts", () => prompts.update());
on("views", () => { if (isBuilt) drawHome(); });
on("notified", drawNames);
on("read", drawNames);
on("outside", () => { outside.update(); drawBanner(); });
on("failed", ({ text }) => toast(text));
on("clock", drawClock);
on("connection", (isUp) => { isCut = !isUp; drawBanner(); });

let isCut = false;

function drawBanner() {
  const { trouble, is_starting: isStarting, slack } = store.outside;
  const told = isCut ? "The playground does not answer. Is it still running in its terminal?"
    : trouble ? trouble
      : isStarting ? "The bot is starting. Slack shows an error to whoever calls it before."
        : slack?.is_down ? "Slack is down: nothing is sent and nothing comes, until you bring it back." : "";
  const banner = $("banner");
  banner.hidden = !told;
  banner.className = `banner${isCut || trouble ? " bad" : ""}`;
  if (banner.textContent !== told) banner.textContent = told;
}

function drawNames() {
  drawSidebar($("sidebar"), (channel) => go(channel));
  drawPeople($("people"), (user) => switchTo(user));
}

function drawPlace() {
  if (!isBuilt || !store.workspace) return;
  drawNames();
  const channel = channelOf(store.place.channel);
  if (!channel) return;
  const { app } = store.workspace;
  const members = channel.members.map(nameOf).join(", ");
  document.title = `${channel.is_direct ? app.name : `#${channel.name}`} · playground`;
  refill(title,
    h("h2", {}, channel.is_direct ? app.name : `# ${channel.name}`),
    h("span", { class: "soft" }, channel.is_direct ? app.agent || app.description : members));
  drawTabs(channel, app);
  drawHome();
  prompts.update();
  composer.move();
  answer.move();
}

function drawTabs(channel, app) {
  const isShown = channel.is_direct && app.has_home;
  tabs.hidden = !isShown;
  const tab = (name, label) => h("button", {
    role: "tab", "aria-selected": String(store.place.tab === name), "data-key": label,
    onclick: () => go(channel.id, "", name),
  }, label);
  refill(tabs, isShown && [tab("home", "Home"), tab("", "Messages")]);
}

function drawHome() {
  const isHome = store.place.tab === "home";
  list.root.hidden = composer.root.hidden = isHome;
  home.hidden = !isHome;
  const { home: view } = store.views;
  if (!isHome || (home.dataset.hash === view?.hash && home.dataset.me === store.me && home.firstChild)) return;
  home.dataset.hash = view?.hash ?? "";
  home.dataset.me = store.me;
  const where = view && { at: { view: view.id }, inputs: [] };
  refill(home, view ? blocks(view.body.blocks, where) : h("p", { class: "empty" }, "This app has not set up its Home yet."));
}

function drawClock() {
  const clock = $("clock");
  const date = now();
  const ahead = Math.round(store.offset);
  clock.dateTime = date.toISOString();
  clock.textContent = store.workspace ? `${dayName(date)} ${timeOf(date)}` : "";
  clock.title = `The world’s clock${ahead ? `, ${ahead.toLocaleString("en")} s ahead` : ""}; in the zone of ${nameOf(store.me)}`;
}

setInterval(drawClock, 1000);

// Light and dark, panels, keys

$("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});

function toggle(button, name) {
  const isOn = document.body.classList.toggle(name);
  $(button).setAttribute("aria-expanded", String(button === "open-outside" ? !isOn : isOn));
}

$("open-outside").addEventListener("click", () => toggle("open-outside", "without-outside"));
$("open-sidebar").addEventListener("click", () => toggle("open-sidebar", "sidebar-open"));
if (matchMedia("(max-width: 900px)").matches) toggle("open-outside", "without-outside");

addEventListener("keydown", (event) => {
  const isWriting = Boolean(document.activeElement?.value);
  if (event.key === "Escape" && !isWriting && !document.querySelector("dialog[open], .menu")) {
    if (document.body.classList.contains("sidebar-open")) toggle("open-sidebar", "sidebar-open");
    else if (store.place.thread) go(store.place.channel);
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    $("sidebar").querySelector("button")?.focus();
  }
  if (event.altKey && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
  }
});

function step(by) {
  const all = store.workspace?.channels ?? [];
  const at = all.findIndex((each) => each.id === store.place.channel);
  const next = all[(at + by + all.length) % all.length];
  if (next) go(next.id);
}

addEventListener("focus", () => { if (isBuilt) { list.update(); drawNames(); } });

const { user, channel, thread } = readAddress();
store.place = { channel, thread, tab: "" };
become(user);
