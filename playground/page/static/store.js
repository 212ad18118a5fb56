// What the page knows, as the server's stream tells it, and what people ask the server to do.

export const store = {
  me: "",
  turn: "",
  offset: 0, // seconds that the world's clock is ahead
  workspace: null,
  channels: new Map(), // id -> Map of ts -> message
  views: { forms: [], home: null },
  notified: {},
  prompts: [], // that the agent view suggests
  outside: {},
  story: null,
  place: { channel: "", thread: "", tab: "" },
};

const listeners = new Map();
let source = null;
let isPressed = false;
let waiting = []; // what came while the pointer was down

/** Calls `act` whenever an event of this name comes. */
export function on(name, act) {
  listeners.set(name, [...(listeners.get(name) ?? []), act]);
}

export function emit(name, value) {
  for (const act of listeners.get(name) ?? []) act(value);
}

/** Becomes a person: all that is shown from now on is what they see. */
export function become(user) {
  source?.close();
  waiting = [];
  store.me = user;
  source = new EventSource(`events?as=${encodeURIComponent(user)}`);
  source.onopen = () => emit("connection", true);
  source.onerror = () => emit("connection", false);
  for (const [name, take] of Object.entries(TAKES)) {
    source.addEventListener(name, (event) => {
      const come = () => {
        const value = JSON.parse(event.data);
        take(value);
        emit(name, value);
      };
      if (isPressed) waiting.push(come);
      else come();
    });
  }
}

// A browser makes no click of a press and a release when what was pressed has been replaced in
// between, and ends the selection of text that is replaced: nothing is redrawn while the pointer is down.

addEventListener("pointerdown", () => { isPressed = true; }, true);
for (const end of ["pointerup", "pointercancel", "dragend", "blur"]) addEventListener(end, release, true);

function release(event) {
  if (event.type === "blur" && event.target !== window) return; // an element lost the focus
  isPressed = false;
  setTimeout(() => { // the click comes first
    const all = waiting;
    waiting = [];
    for (const come of all) come();
  });
}

const TAKES = {
  begin: ({ turn }) => {
    store.turn = turn;
    store.channels = new Map();
    store.views = { forms: [], home: null };
    store.workspace = null;
    store.prompts = [];
  },
  clock: ({ offset }) => { store.offset = offset; },
  workspace: (value) => { store.workspace = value; },
  messages: ({ channel, messages, gone }) => {
    const known = store.channels.get(channel) ?? new Map();
    store.channels.set(channel, known);
    for (const message of messages) known.set(message.ts, message);
    for (const ts of gone) known.delete(ts);
  },
  views: (value) => { store.views = value; },
  prompts: ({ offered }) => { store.prompts = offered; },
  notified: (value) => { store.notified = value; },
  outside: (value) => { store.outside = value; },
  story: (value) => { store.story = value; },
  failed: () => {},
};

/** Does something as the person one is; an Error says why it cannot be done. */
export function act(verb, body = {}) {
  return post(`acts/${verb}`, { as: store.me, ...body });
}

/** Does something to the world outside. */
export function change(what, body = {}) {
  return post(`world/${what}`, body);
}

/** Does something with the stories. */
export function tell(what, body = {}) {
  return post(`stories/${what}`, body);
}

async function post(path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The playground does not answer. Is it still running in its terminal?");
  }
  const told = await answer.json().catch(() => ({ error: `The playground answered ${answer.status}.` }));
  if (!answer.ok) throw new Error(sentence(told.error));
  return told;
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

// Looking things up

export function person(id) {
  return store.workspace?.people.find((each) => each.id === id);
}

export function me() {
  return person(store.me);
}

export function channelOf(id) {
  return store.workspace?.channels.find((each) => each.id === id);
}

/** The name behind an id, without its sign. */
export function nameOf(id) {
  const { people = [], groups = [], channels = [] } = store.workspace ?? {};
  return [...people, ...groups, ...channels].find((each) => each.id === id)?.name ?? id;
}

/** The address of a file that a message shows. */
export function fileUrl(id) {
  return `files/${encodeURIComponent(id)}?as=${encodeURIComponent(store.me)}`;
}

/** The messages of a channel or, with a timestamp, of one of its threads, oldest first. */
export function messagesOf(channel, thread = "") {
  const all = [...(store.channels.get(channel)?.values() ?? [])];
  const there = new Set(all.map((each) => each.ts));
  const shown = thread
    ? all.filter((each) => each.ts === thread || each.thread === thread)
    : all.filter((each) => !each.thread || each.broadcast || !there.has(each.thread));
  return shown.sort((one, other) => (one.ts < other.ts ? -1 : 1));
}

// What was read: by world and person, kept for as long as the tab lives

function kept(name) {
  return `${name}:${store.turn}:${store.me}`;
}

export function lastRead(channel) {
  return JSON.parse(sessionStorage.getItem(kept("read")) ?? "{}")[channel] ?? "";
}

export function markRead(channel, ts) {
  const read = JSON.parse(sessionStorage.getItem(kept("read")) ?? "{}");
  if ((read[channel] ?? "") >= ts) return;
  sessionStorage.setItem(kept("read"), JSON.stringify({ ...read, [channel]: ts }));
  emit("read", channel);
}

/** How many messages notified a person since one was this person last. */
export function waitingFor(user) {
  const before = Number(sessionStorage.getItem(`notified:${store.turn}:${user}`) ?? 0);
  return Math.max(0, (store.notified[user] ?? 0) - before);
}

on("notified", () => {
  sessionStorage.setItem(`notified:${store.turn}:${store.me}`, store.notified[store.me] ?? 0);
});
