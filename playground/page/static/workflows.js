// Workflows of one step: what Slack's Workflow Builder would give the app's step is filled in here.

import { field } from "./controls.js";
import { h, toast, uniqueId } from "./dom.js";
import { missing } from "./forms.js";
import { act, channelOf, on, store } from "./store.js";

const started = new Set(); // runs of which this tab tells the end, whoever one is then
const key = (id) => `${store.turn} ${id}`;

/** What the menu beside the text box has for workflows: labels with what each does. */
export function workflows() {
  return (store.workspace?.steps ?? []).map((step) => [`Run a workflow: ${step.title}`, () => new Workflow(step)]);
}

class Workflow {
  constructor(step) {
    this.step = step;
    this.inputs = [];
    const titleId = uniqueId();
    this.alert = h("p", { class: "alert error", role: "alert", hidden: true });
    this.run = h("button", { class: "button primary", type: "submit" }, "Run");
    this.form = h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); this.runs(); } },
      h("header", {}, h("h2", { id: titleId }, step.title),
        h("button", { class: "icon", type: "button", "aria-label": "Close", onclick: () => this.dialog.close() }, "✕")),
      h("div", { class: "fields-of-form" }, this.alert,
        h("p", { class: "soft" }, `A workflow with this step of the app: ${step.description}. `
          + "In Slack, the author of the workflow fills in the inputs."),
        step.inputs.map((input) => field(block(input), { inputs: this.inputs }))),
      h("footer", { class: "row end" },
        h("button", { class: "button", type: "button", onclick: () => this.dialog.close() }, "Cancel"), this.run));
    this.dialog = h("dialog", { class: "form", "aria-labelledby": titleId, onclose: () => this.dialog.remove() }, this.form);
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.inputs[0]?.node.focus();
  }

  async runs() {
    if (this.form.getAttribute("aria-busy")) return;
    this.alert.hidden = true;
    const lacking = missing(this.inputs);
    for (const { block: { block_id: name }, complain } of this.inputs) complain(lacking[name]);
    const first = this.inputs.find((each) => lacking[each.block.block_id]);
    if (first) return first.node.focus();
    this.form.setAttribute("aria-busy", "true");
    this.run.disabled = true;
    const filled = this.inputs.map(({ block: { block_id: name }, read }) => [name, read()]).filter(([, value]) => value !== null);
    try {
      const { id } = await act("workflow", { step: this.step.name, inputs: Object.fromEntries(filled) });
      started.add(key(id));
      this.dialog.close();
      toast(`The workflow runs ${this.step.title}. The panel Outside shows how it ends.`);
      tellEnds();
    } catch (error) {
      this.alert.hidden = false;
      this.alert.replaceChildren(error.message);
    }
    this.form.removeAttribute("aria-busy");
    this.run.disabled = false;
    return undefined;
  }
}

/** An input of a step as a block of a form. */
function block({ name, title, hint, type, is_required: isRequired }) {
  const plain = (text) => ({ type: "plain_text", text });
  const { channel } = store.place;
  const element = {
    "slack#/types/user_id": { type: "users_select", initial_user: store.me },
    "slack#/types/channel_id": {
      type: "channels_select", ...(channelOf(channel)?.is_direct === false && { initial_channel: channel }),
    },
  }[type] ?? { type: "plain_text_input" };
  return {
    type: "input", block_id: name, label: plain(title), optional: !isRequired, hint: hint && plain(hint),
    element: { ...element, action_id: name },
  };
}

function tellEnds() {
  for (const { id, title, state, error } of store.outside.steps ?? []) {
    if (state === "runs" || !started.delete(key(id))) continue;
    toast(state === "failed" ? `${title} failed: ${error}` : `${title} is complete. The panel Outside shows its outputs.`);
  }
}

on("outside", tellEnds);
