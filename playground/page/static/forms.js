// Forms (modals): a stack of dialogs of which the uppermost is shown; what was typed stays while a
// form is open, whatever happens around it.

import { blocks } from "./blocks.js";
import { h, uniqueId } from "./dom.js";
import { act, emit, on, store } from "./store.js";
import { plain } from "./text.js";

const open = new Map(); // id of the view -> Form
let dialog = null;

on("views", update);
on("begin", update);

function update() {
  const { forms } = store.views;
  for (const id of [...open.keys()]) if (!forms.some((each) => each.id === id)) open.delete(id);
  for (const view of forms) {
    const form = open.get(view.id) ?? new Form();
    open.set(view.id, form);
    form.update(view);
  }
  const top = forms.at(-1);
  if (!top) {
    dialog?.close();
    dialog?.remove();
    dialog = null;
    return;
  }
  if (!dialog) {
    dialog = h("dialog", { class: "form", oncancel: (event) => { event.preventDefault(); topForm()?.closes(); } });
    document.body.append(dialog);
  }
  const form = open.get(top.id);
  if (dialog.firstChild !== form.root) {
    dialog.replaceChildren(form.root);
    dialog.setAttribute("aria-labelledby", form.titleId);
  }
  if (!dialog.open) dialog.showModal();
  form.focusOnce();
}

function topForm() {
  return open.get(store.views.forms.at(-1)?.id);
}

/** What Slack itself says before it sends a form, by the block that lacks a value. */
export function missing(inputs) {
  const isEmpty = (value) => value === null || value.length === 0;
  return Object.fromEntries(inputs
    .filter(({ block, read }) => !block.optional && isEmpty(read()))
    .map(({ block }) => [block.block_id, "Please complete this required field."]));
}

class Form {
  constructor() {
    this.titleId = uniqueId();
    this.root = h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); this.sends(); } });
    this.inputs = [];
  }

  update(view) {
    this.id = view.id;
    if (view.hash !== this.hash) this.draw(view);
    this.hash = view.hash;
    this.complain(view.errors);
  }

  draw({ body }) {
    const kept = new Map(this.inputs.map((each) => [each.block.block_id, each]));
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    this.inputs = [];
    const where = { at: { view: this.id }, inputs: this.inputs, kept, values: () => this.values() };
    this.alert = h("p", { class: "alert error", role: "alert", hidden: true });
    this.submit = body.submit && h("button", { class: "button primary", type: "submit", disabled: body.submit_disabled === true },
      plain(body.submit.text));
    const scrolled = this.root.querySelector(".fields-of-form")?.scrollTop ?? 0;
    this.root.replaceChildren(
      h("header", {}, h("h2", { id: this.titleId }, plain(body.title.text)),
        h("button", { class: "icon", type: "button", "aria-label": "Close", onclick: () => this.closes() }, "✕")),
      h("div", { class: "fields-of-form" }, this.alert, ...blocks(body.blocks, where)),
      h("footer", { class: "row end" },
        h("button", { class: "button", type: "button", onclick: () => this.closes() }, plain(body.close?.text ?? "Cancel")),
        this.submit || ""));
    this.root.querySelector(".fields-of-form").scrollTop = scrolled;
    for (const input of this.inputs) {
      const before = kept.get(input.block.block_id);
      if (before && before !== input && before.block.element.type === input.block.element.type) input.write(before.read());
    }
    if (focused) [...this.root.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
  }

  /** Puts the focus on the first field, the first time the form is in front. */
  focusOnce() {
    if (this.wasFocused) return;
    this.wasFocused = true;
    (this.root.querySelector("[autofocus]") ?? this.root.querySelector(".field input, .field textarea, .field select")
      ?? this.submit ?? this.root.querySelector("button"))?.focus();
  }

  values() {
    return Object.fromEntries(this.inputs.map(({ block, read }) => [block.block_id, read()]));
  }

  complain(errors) {
    const told = { ...errors };
    let first = null;
    for (const input of this.inputs) {
      const text = told[input.block.block_id];
      delete told[input.block.block_id];
      if (text === undefined) continue;
      input.complain(text);
      first ??= input.node;
    }
    const others = Object.values(told);
    this.alert.hidden = !others.length;
    this.alert.replaceChildren(others.join(" "));
    if (first && !this.root.contains(document.activeElement)) first.focus();
    return first;
  }

  async sends() {
    if (this.root.getAttribute("aria-busy")) return;
    for (const input of this.inputs) input.complain(null);
    const lacking = missing(this.inputs);
    if (Object.keys(lacking).length) {
      this.complain(lacking)?.focus();
      return;
    }
    this.root.setAttribute("aria-busy", "true");
    if (this.submit) this.submit.disabled = true;
    try {
      const { errors } = await act("submit", { view: this.id, values: this.values() });
      this.complain(errors)?.focus();
    } catch (error) {
      this.complain({ "": error.message });
    }
    this.root.removeAttribute("aria-busy");
    if (this.submit) this.submit.disabled = false;
  }

  async closes() {
    try {
      await act("close", { view: this.id });
    } catch (error) {
      emit("failed", { text: error.message });
    }
  }
}
