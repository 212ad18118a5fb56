// Try this next: commands to begin with, and stories that play at reading speed; while one does,
// the page follows who acts and where.

import { asked, h, refill, toast } from "./dom.js";
import { nameOf, on, store, tell } from "./store.js";

const COMMANDS = [
  ["Submit a run", "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py --epochs 3"],
  ["Submit one that must wait", "/train submit big --image ghcr.io/acme/big:1.0 --gpus 14 -- python train.py"],
  ["Ask why it waits", "/train why big"],
  ["Request GPUs (then be Carol, in #gpu-approvals)", "/quota request +8 --for 3d --reason \"CVPR deadline\""],
  ["See who uses the GPUs", "/gpu status"],
  ["See volumes and capacity pools", "/anf list"],
];

export class Tour {
  /** `fill` puts a command into the field for messages; `follow` goes where a step happens. */
  constructor({ caption, fill, follow }) {
    this.caption = caption;
    this.fill = fill;
    this.follow = follow;
    this.list = h("div", { class: "tour" });
    this.number = 0;
    on("story", () => this.update());
    on("workspace", () => { this.drawCaption(store.story?.playing); this.goes(); });
  }

  update() {
    const { offered, playing } = store.story;
    refill(this.list,
      h("h3", {}, "Commands"),
      h("ul", { class: "plain" }, COMMANDS.map(([label, text]) => h("li", {},
        h("button", { class: "link", "data-key": label, title: text, onclick: () => this.fill(text) }, label)))),
      h("h3", {}, "Stories at reading speed"),
      h("ul", { class: "plain" }, offered.map((each) => h("li", {}, h("button", {
        class: "link", "data-key": each.name, disabled: Boolean(each.needs), title: each.needs || each.about,
        onclick: () => this.play(each),
      }, playing?.name === each.name ? "▶ " : "", each.title), each.needs && h("div", { class: "soft" }, each.needs)))),
      h("button", { class: "button small", "data-key": "fresh", onclick: () => this.fresh() }, "Start with a fresh world"));
    this.drawCaption(playing);
    this.goes();
  }

  async play(story) {
    const isSure = await asked({
      title: `Play “${story.title}”?`,
      text: `${story.about} It begins in a fresh world: what you did in this one is gone.`,
      confirm: "Play it", deny: "Not now",
    });
    if (isSure) this.does("play", { name: story.name });
  }

  async fresh() {
    const isSure = await asked({
      title: "Start with a fresh world?", text: "What you did in this one is gone.",
      confirm: "Start", deny: "Keep this one",
    });
    if (isSure) this.does("begin");
  }

  async does(verb, body) {
    try {
      await tell(verb, body);
    } catch (error) {
      toast(error.message);
    }
  }

  /** Goes where the step that comes next happens. */
  goes() {
    const playing = store.story?.playing;
    if (!playing) this.number = 0;
    if (!playing?.step || playing.state !== "plays" || playing.number === this.number || !store.workspace) return;
    this.number = playing.number;
    this.follow(playing.step);
  }

  drawCaption(playing) {
    this.caption.hidden = !playing;
    if (!playing) return refill(this.caption);
    const press = (label, verb) => h("button", { class: "button small", "data-key": verb, onclick: () => this.does(verb) }, label);
    refill(this.caption, h("span", { class: "grow" }, told(playing)), h("span", { class: "row" },
      playing.state === "plays" && [
        playing.is_paused ? press("Go on", "resume") : press("Pause", "pause"), press("Next", "next"),
      ],
      playing.state === "begins" ? null : press(playing.state === "plays" ? "Stop the story" : "Close", "stop")));
    return undefined;
  }
}

function told({ state, said, step }) {
  if (state === "begins") return "A fresh world is set up for the story…";
  if (state === "ended") return "The story is over. Its world is yours now: try something.";
  if (state === "failed") return `The story took another turn than it should have: ${said}`;
  if (!step) return "The story begins.";
  const what = ["clicks", "chooses"].includes(step.does) ? h("b", {}, step.what) : h("code", {}, step.what);
  return [`${nameOf(step.person)} ${step.does} `, what];
}
