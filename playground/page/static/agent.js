// The agent view: the prompts that are suggested above the text box of the app's direct messages.

import { h, refill, toast, uniqueId } from "./dom.js";
import { act, channelOf, store } from "./store.js";

/** The suggested prompts; `opens` is called with the message that a chosen one sent. */
export class Prompts {
  constructor(opens) {
    this.opens = opens;
    this.titleId = uniqueId();
    this.root = h("div", { class: "prompts", role: "group", "aria-labelledby": this.titleId, hidden: true });
  }

  update() {
    const { channel, tab } = store.place;
    const isThere = store.prompts.length > 0 && channelOf(channel)?.is_direct && !tab;
    this.root.hidden = !isThere;
    refill(this.root, isThere && [
      h("span", { class: "soft", id: this.titleId }, "Suggested prompts"),
      store.prompts.map((each) => h("button", {
        class: "button small", "data-key": `prompt ${each.title}`, title: `Sends: ${each.message}`,
        onclick: (event) => this.chooses(each.title, event.currentTarget),
      }, each.title)),
    ]);
  }

  async chooses(title, button) {
    if (button.getAttribute("aria-busy")) return;
    button.setAttribute("aria-busy", "true");
    try {
      this.opens(await act("choose", { title }));
    } catch (error) {
      toast(error.message);
    }
    button.removeAttribute("aria-busy");
  }
}
