// The panel of the world outside: what is in it, and the buttons that change it.

import { h, refill, toast } from "./dom.js";
import { change, store } from "./store.js";
import { mention, mrkdwn } from "./text.js";

export class Outside {
  constructor(root, tour) {
    this.buttons = h("div", { class: "switches" });
    this.lists = h("div", { class: "lists" });
    refill(root,
      h("details", { class: "next", open: true }, h("summary", {}, h("h2", {}, "Try this next")), tour),
      h("h2", {}, "The world outside"), this.buttons, this.lists);
  }

  update() {
    const told = store.outside;
    if (!told.bots) {
      refill(this.buttons);
      refill(this.lists, h("p", { class: "soft" }, "The world is being set up…"));
      return;
    }
    refill(this.buttons, switches(told));
    const isOpen = new Map([...this.lists.querySelectorAll("details")].map((each) => [each.dataset.name, each.open]));
    const part = (name, count, content, opens = true) => h("details", { "data-name": name, open: isOpen.get(name) ?? opens },
      h("summary", { "data-key": name }, name, h("span", { class: "soft" }, ` ${count}`)), content);
    refill(this.lists,
      told.refused.length > 0 && h("div", { class: "alert error", role: "alert" }, h("b", {}, "Slack refused the bot"),
        h("ul", {}, told.refused.map((each) => h("li", {}, each)))),
      told.steps.length > 0 && part("Steps of workflows", told.steps.length, told.steps.map(step)),
      told.clusters.map((each) => cluster(each, told.clusters.length > 1, part)),
      told.pools.length > 0 && part("Capacity pools", told.pools.length, told.pools.map(pool)),
      part("The bot’s last calls", "", h("ol", { class: "calls" }, told.calls.map(call))));
  }
}

async function does(what, body, node) {
  node?.setAttribute("aria-busy", "true");
  try {
    return await change(what, body);
  } catch (error) {
    toast(error.message);
    return null;
  } finally {
    node?.removeAttribute("aria-busy");
  }
}

function press(label, what, body, title, then) {
  const node = h("button", {
    class: "button small", title, "data-key": label,
    onclick: async () => {
      const answer = await does(what, body, node);
      if (answer && then) then(answer);
    },
  }, label);
  return node;
}

function switches({ bots, slack, clusters }) {
  const [bot] = bots;
  const isCut = clusters.some((each) => each.is_down);
  return [
    row("Clock", ["1m", "1h", "1d", "3d"].map((each) =>
      press(`+${each}`, "clock", { forward: each }, "Moves the time ahead; what is due meanwhile happens"))),
    row(state("Bot", bot.is_ready, bot.is_ready ? "runs" : bot.is_running ? "starts" : "stopped"),
      bot.is_running
        ? [press("Kill it", "bot", { do: "kill" }, "Ends the bot without a warning (SIGKILL)"),
          press("Stop it", "bot", { do: "stop" }, "Asks the bot to end (SIGTERM)")]
        : press("Start it", "bot", { do: "start" })),
    row(state("Slack", !slack.is_down, slack.is_down ? "down" : "up"),
      slack.is_down ? press("Bring Slack back", "slack", { is: "up" }) : press("Cut Slack", "slack", { is: "down" },
        "Slack answers 503 and drops the bot’s connections")),
    row(state("Cluster", !isCut, isCut ? "down" : "up"),
      isCut ? press("Bring the cluster back", "cluster", { is: "up" }) : press("Cut the cluster", "cluster", { is: "down" },
        "Its API takes no connections; pods go on running")),
    row("Last action", press("Deliver it twice", "again", {}, "Slack may deliver an act a second time",
      ({ delivered }) => toast(`Delivered again: ${delivered}.`))),
  ];
}

function row(name, content) {
  return h("div", { class: "switch" }, h("span", { class: "label" }, name), h("span", { class: "row" }, content));
}

function state(name, isWell, word) {
  return [h("i", { class: `lamp ${isWell ? "well" : "ill"}` }), `${name} `, h("span", { class: "soft" }, word)];
}

function cluster(told, isOneOfMany, part) {
  const of = isOneOfMany ? `${told.name}: ` : "";
  return [
    part(`${of}Nodes and GPUs`, told.nodes.length, told.nodes.map(node)),
    told.queues.length > 0 && part(`${of}Queues`, told.queues.length, told.queues.map(queue)),
    part(`${of}Pods`, told.pods.length, told.pods.length ? h("ul", { class: "plain" }, told.pods.map(pod)) : none("No pods.")),
    part(`${of}Volumes`, told.volumes.length, told.volumes.length ? h("ul", { class: "plain" }, told.volumes.map(volume)) : none("No volumes."), false),
  ];
}

function none(text) {
  return h("p", { class: "soft" }, text);
}

function node(each) {
  const cells = Array.from({ length: Math.min(each.gpus, 32) }, (_, at) => h("i", { class: at < each.used ? "used" : "" }));
  const isLost = !each.is_ready;
  return h("div", { class: "node" },
    h("div", { class: "row between" },
      h("b", {}, each.name, isLost && h("span", { class: "bad" }, " not ready")),
      h("span", { class: "soft" }, `${each.used} of ${each.gpus} GPUs`)),
    h("div", { class: "gpus", role: "img", "aria-label": `${each.used} of ${each.gpus} GPUs are used` }, cells),
    h("div", { class: "row between" }, h("span", { class: "soft" }, each.product),
      press(isLost ? `Find ${each.name}` : `Lose ${each.name}`, "nature", { do: isLost ? "find_node" : "lose_node", name: each.name },
        "A lost node is silent: its pods are evicted after a while")));
}

function queue(each) {
  const [used, nominal, borrowed] = [each.used, each.nominal, each.borrowed].map(Number);
  const told = borrowed > 0 ? `borrows ${borrowed}` : each.pending ? `${each.pending} wait` : "";
  const bar = h("i", { class: borrowed > 0 ? "over" : "" });
  bar.style.width = `${Math.min(100, nominal ? (100 * used) / Math.max(nominal, used) : used ? 100 : 0)}%`;
  return h("div", { class: "queue" },
    h("div", { class: "row between" }, h("b", {}, each.name, " ", h("span", { class: "soft" }, each.flavor)),
      h("span", { class: "soft" }, `${each.used} of ${each.nominal}`, told && ` · ${told}`)),
    h("div", { class: "meter" }, bar));
}

function pod(each) {
  return h("li", {}, h("i", { class: `lamp ${{ Running: "well", Succeeded: "done", Failed: "ill" }[each.phase] ?? "waits"}` }),
    h("span", { class: "grow" }, `${each.namespace}/${each.name}`,
      h("div", { class: "soft" }, [each.phase, each.gpus && `${each.gpus} GPUs`, each.node].filter(Boolean).join(" · "))));
}

function volume(each) {
  return h("li", {}, h("span", { class: "grow" }, `${each.namespace}/${each.name}`),
    h("span", { class: "soft right" }, [each.size, each.class, each.phase].filter(Boolean).join(" · ")));
}

function pool(each) {
  return h("div", { class: "pool" },
    h("div", { class: "row between" }, h("b", {}, each.name), h("span", { class: "soft" }, `${each.level}, ${each.gib.toLocaleString("en")} GiB, ${rate(each.throughput)}`)),
    h("ul", { class: "plain" }, each.volumes.map((of) => h("li", {}, h("span", { class: "grow" }, of.name),
      h("span", { class: "soft" }, `${of.gib.toLocaleString("en")} GiB, ${rate(of.throughput)}`)))));
}

function rate(value) {
  return `${Math.round(value * 10) / 10} MiB/s`;
}

function step(each) {
  const lamp = { runs: "waits", completed: "well", failed: "ill" }[each.state];
  const values = (list) => list.map(({ title, value }) => [h("dt", {}, title), h("dd", {}, shown(value))]);
  return h("div", { class: "step" },
    h("div", { class: "row between" }, h("b", {}, h("i", { class: `lamp ${lamp}` }), each.title), h("span", { class: "soft" }, each.state)),
    each.error && h("p", { class: "bad" }, mrkdwn(each.error)),
    h("dl", {}, each.outputs.length ? values(each.outputs) : values(each.inputs)));
}

/** A value as Slack shows it: ids of people and channels by their names. */
function shown(value) {
  if (/^[UW]0\w+$/.test(value)) return mention("@", value);
  return /^C0\w+$/.test(value) ? mention("#", value) : mrkdwn(value);
}

function call(each) {
  return h("li", {}, h("b", {}, each.name), " ", h("span", { class: "soft" }, `${each.service} ${each.about}`));
}
