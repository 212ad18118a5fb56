// Buttons, menus and fields. In messages and on Home a control acts at once; in a form the inputs
// are read when the form is sent.

import { asked, h, openMenu, toast, uniqueId } from "./dom.js";
import { act, store } from "./store.js";
import { plain, textOf } from "./text.js";

/** A control that acts when it is used. */
export function control(element, block, where) {
  return (CONTROLS[element.type] ?? picker)(element, block, where);
}

async function use(element, block, where, option, node) {
  let confirm = false;
  if (element.confirm) {
    const { title, text, confirm: yes, deny, style } = element.confirm;
    confirm = await asked({
      title: plain(title.text), text: textOf(text), confirm: plain(yes.text), deny: plain(deny.text), style,
    });
    if (!confirm) return false;
  }
  node.setAttribute("aria-busy", "true");
  try {
    const values = where.values?.();
    await act("click", { ...where.at, block: block.block_id, action: element.action_id, confirm, option, values });
  } catch (error) {
    toast(error.message);
  }
  node.removeAttribute("aria-busy");
  return true;
}

const key = (element, block) => `${block.block_id} ${element.action_id}`;

function button(element, block, where) {
  const node = h("button", {
    class: `button ${element.style ?? ""}`,
    type: "button",
    "data-key": key(element, block),
    "aria-label": element.accessibility_label,
    onclick: async () => {
      if (node.getAttribute("aria-busy")) return;
      if (element.url) open(element.url, "_blank", "noopener,noreferrer");
      await use(element, block, where, undefined, node);
    },
  }, plain(element.text.text));
  return node;
}

function overflow(element, block, where) {
  const node = h("button", {
    class: "button overflow", type: "button", "aria-label": "More actions", "aria-haspopup": "menu",
    "aria-expanded": "false", "data-key": key(element, block),
    onclick: () => openMenu(node, element.options.map((option) =>
      [textOf(option.text), () => use(element, block, where, option.value, node)])),
  }, "⋯");
  return node;
}

function picker(element, block, where) {
  const input = entry(element);
  input.node.dataset.key = key(element, block);
  input.node.addEventListener("change", async () => {
    const value = input.read();
    if (value === null) return;
    if (!(await use(element, block, where, value, input.node))) input.write(initial(element));
  });
  return input.node;
}

const CONTROLS = { button, overflow };

/** An input block of a form, with its label, hint and error; `where.inputs` gets a reader. */
export function field(block, where) {
  const { element } = block;
  const same = where.kept?.get(block.block_id);
  if (same && same.json === JSON.stringify(block)) {
    where.inputs.push(same);
    return same.root;
  }
  const search = (text) => act("search", { ...where.at, block: block.block_id, text });
  const id = uniqueId(), hintId = uniqueId(), errorId = uniqueId();
  const input = entry(element, id, search);
  const error = h("p", { class: "error", id: errorId, role: "alert", hidden: true });
  const isGroup = input.node.tagName === "FIELDSET";
  const name = [plain(block.label.text), block.optional && h("span", { class: "soft" }, " (optional)")];
  input.node.dataset.key = key(element, block);
  input.node.setAttribute("aria-describedby", [block.hint && hintId, errorId].filter(Boolean).join(" "));
  if (isGroup) input.node.prepend(h("legend", {}, name));
  if (element.focus_on_load) input.node.setAttribute("autofocus", "");
  const complain = (text) => {
    error.hidden = !text;
    error.replaceChildren(text ?? "");
    if (text) input.node.setAttribute("aria-invalid", "true");
    else input.node.removeAttribute("aria-invalid");
  };
  const node = h("div", { class: "field" },
    !isGroup && h("label", { for: id }, name),
    input.node,
    block.hint && h("p", { class: "hint", id: hintId }, plain(block.hint.text)),
    error);
  node.addEventListener("input", () => complain(null));
  if (block.dispatch_action) {
    input.node.addEventListener("change", async () => {
      try {
        await act("change", { ...where.at, block: block.block_id, value: input.read(), values: where.values() });
      } catch (failed) {
        complain(failed.message);
      }
    });
  }
  const isOne = input.node.matches("input, select, textarea");
  where.inputs?.push({
    block, json: JSON.stringify(block), root: node, read: input.read, write: input.write, complain,
    node: isOne ? input.node : input.node.querySelector("input"),
  });
  return node;
}

/** What an element holds before anybody touches it, in the words of an answer. */
function initial(element) {
  for (const [name, value] of Object.entries(element)) {
    if (name === "initial_option") return value.value;
    if (name === "initial_options") return value.map((each) => each.value);
    if (name.startsWith("initial_")) return value;
  }
  return null;
}

function entry(element, id, search) {
  const made = (ENTRIES[element.type] ?? textInput)(element, id, search);
  if (initial(element) !== null) made.write(initial(element));
  return made;
}

/** A menu whose options the bot finds for what is typed; with `many` several are chosen. */
function searched(many) {
  return (element, id, search) => {
    const known = [element.initial_option ?? [], element.initial_options ?? []].flat().map(choice);
    const chosen = new Map(); // value -> label
    const list = h("ul", { class: "found", role: "listbox", "aria-label": "Found", id: uniqueId(), hidden: true });
    const picks = h("span", { class: "row" });
    const input = h("input", {
      type: "text", id, role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id,
      "aria-expanded": "false", autocomplete: "off", placeholder: element.placeholder?.text ?? "Type to search",
      "data-key": id,
    });
    const node = h("div", { class: "searched" }, picks, input, list);
    let at = -1, wanted = 0;
    const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); };
    const draw = () => {
      if (!many) input.value = [...chosen.values()][0] ?? "";
      picks.replaceChildren(...(many ? [...chosen] : []).map(([value, label]) => h("button", {
        class: "button small", type: "button", "aria-label": `Remove ${label}`,
        onclick: () => { chosen.delete(value); draw(); told(); },
      }, `${label} ✕`)));
    };
    const told = () => node.dispatchEvent(new Event("change"));
    const take = (option) => {
      if (!many) chosen.clear();
      chosen.set(option.value, option.label);
      if (many) input.value = "";
      close();
      draw();
      told();
    };
    const mark = (to) => {
      at = (to + list.children.length) % list.children.length;
      [...list.children].forEach((item, each) => item.setAttribute("aria-selected", String(each === at)));
      list.children[at]?.scrollIntoView({ block: "nearest" });
    };
    const look = async () => {
      const turn = (wanted += 1);
      let found;
      try {
        found = (await search(input.value)).options.map(choice);
      } catch (error) {
        found = [];
        toast(error.message);
      }
      if (turn !== wanted || document.activeElement !== input) return;
      known.push(...found);
      list.replaceChildren(...found.map((option) => h("li", {
        role: "option", onpointerdown: (event) => { event.preventDefault(); take(option); },
      }, option.label, option.about && h("span", { class: "soft" }, ` ${option.about}`))));
      if (!found.length) list.replaceChildren(h("li", { class: "soft" }, "Nothing is called so."));
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
      list.found = found;
      if (found.length) mark(0);
    };
    input.addEventListener("change", (event) => event.stopPropagation());
    input.addEventListener("input", () => { if (!many) chosen.clear(); look(); });
    input.addEventListener("focus", () => { if ((element.min_query_length ?? 3) === 0) look(); });
    input.addEventListener("blur", () => { close(); draw(); });
    input.addEventListener("keydown", (event) => {
      if (list.hidden || !list.found?.length) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") mark(at + (event.key === "ArrowDown" ? 1 : -1));
      else if (event.key === "Enter") take(list.found[at]);
      else if (event.key === "Escape") { event.stopPropagation(); close(); } else return;
      event.preventDefault();
    });
    return {
      node,
      read: () => (many ? [...chosen.keys()] : [...chosen.keys()][0] ?? null),
      write: (value) => {
        chosen.clear();
        for (const each of [value ?? []].flat()) chosen.set(each, known.find((one) => one.value === each)?.label ?? each);
        draw();
      },
    };
  };
}

function textInput(element, id) {
  const isLong = element.multiline;
  const node = h(isLong ? "textarea" : "input", {
    id,
    type: isLong ? null : { email_text_input: "email", url_text_input: "url" }[element.type] ?? "text",
    inputmode: element.type === "number_input" ? "decimal" : null,
    rows: isLong ? 4 : null,
    placeholder: element.placeholder?.text,
    maxlength: element.max_length,
    autocomplete: "off",
  });
  return { node, read: () => node.value || null, write: (value) => { node.value = value ?? ""; } };
}

function typed(type) {
  return (element, id) => {
    const node = h("input", { id, type, class: "picker" });
    node.setAttribute("aria-label", element.placeholder?.text ?? type);
    return { node, read: () => node.value || null, write: (value) => { node.value = value ?? ""; } };
  };
}

function dateTime(element, id) {
  const { node } = typed("datetime-local")(element, id);
  return {
    node,
    read: () => (node.value ? Math.round(new Date(node.value).getTime() / 1000) : null),
    write: (value) => {
      const local = value ? new Date(value * 1000 - new Date(value * 1000).getTimezoneOffset() * 60_000) : null;
      node.value = local ? local.toISOString().slice(0, 16) : "";
    },
  };
}

function choices(element) {
  if (element.option_groups) {
    return element.option_groups.map((group) => [textContent(group.label), group.options.map(choice)]);
  }
  return (element.options ?? []).map(choice);
}

const choice = (option) => ({ value: option.value, label: textContent(option.text), about: option.description?.text });

function textContent(value) {
  return h("span", {}, textOf(value)).textContent;
}

function select(list) {
  return (element, id) => {
    const made = (each) => h("option", { value: each.value, title: each.about }, each.label);
    const node = h("select", { id, class: "select" },
      h("option", { value: "" }, element.placeholder?.text ?? "Choose"),
      list(element).map((each) => (Array.isArray(each)
        ? h("optgroup", { label: each[0] }, each[1].map(made)) : made(each))));
    if (!id) node.setAttribute("aria-label", element.placeholder?.text ?? "Choose");
    return { node, read: () => node.value || null, write: (value) => { node.value = value ?? ""; } };
  };
}

/** Boxes to tick, or with `type` radio one of them. */
function boxes(type, list) {
  return (element, id) => {
    const name = uniqueId();
    const flat = list(element).flatMap((each) => (Array.isArray(each) ? each[1] : [each]));
    const inputs = flat.map((each) => [each, h("input", { type, name, value: each.value })]);
    const node = h("fieldset", { class: flat.length > 8 ? "boxes many" : "boxes", id },
      inputs.map(([each, input]) => h("label", {}, input, h("span", {}, each.label,
        each.about && h("span", { class: "soft" }, ` ${each.about}`)))));
    const chosen = () => inputs.filter(([, input]) => input.checked).map(([each]) => each.value);
    return {
      node,
      read: () => (type === "radio" ? chosen()[0] ?? null : chosen()),
      write: (value) => {
        for (const [each, input] of inputs) input.checked = [value].flat().includes(each.value);
      },
    };
  };
}

const people = () => store.workspace.people.filter((each) => !each.is_gone)
  .map((each) => ({ value: each.id, label: each.real_name }));
const channels = () => store.workspace.channels.filter((each) => !each.is_direct)
  .map((each) => ({ value: each.id, label: `#${each.name}` }));

const ENTRIES = {
  static_select: select(choices),
  external_select: searched(false),
  multi_external_select: searched(true),
  users_select: select(people),
  channels_select: select(channels),
  conversations_select: select(channels),
  multi_static_select: boxes("checkbox", choices),
  multi_users_select: boxes("checkbox", people),
  multi_channels_select: boxes("checkbox", channels),
  multi_conversations_select: boxes("checkbox", channels),
  checkboxes: boxes("checkbox", choices),
  radio_buttons: boxes("radio", choices),
  datepicker: typed("date"),
  timepicker: typed("time"),
  datetimepicker: dateTime,
};
