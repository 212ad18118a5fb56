// Elements. Everything a message holds becomes a text node: nothing here takes HTML.

const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "indeterminate", "selected"]);

/** An element with attributes, listeners (onclick: function) and children (nodes or texts). */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Text in fixed width; keys reach it, because it scrolls where it is long. */
export function fixed(...children) {
  return h("pre", { tabindex: "0" }, ...children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter(isShown));
  return node;
}

/** Replaces an element by another one; a control that has the focus keeps it. */
export function swap(old, fresh) {
  const key = old.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  old.replaceWith(fresh);
  if (key) {
    const again = [...fresh.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
    (again ?? fresh).focus({ preventScroll: true });
  }
  return fresh;
}

/** Replaces the children of an element, in the same way. */
export function refill(node, ...children) {
  const key = node.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  node.replaceChildren(...children.flat(Infinity).filter(isShown));
  if (key) {
    [...node.querySelectorAll("[data-key]")]
      .find((each) => each.dataset.key === key)
      ?.focus({ preventScroll: true });
  }
}

let ids = 0;

/** An id that no other element has. */
export function uniqueId() {
  ids += 1;
  return `e${ids}`;
}

/** Shows a passing message, which screen readers read. */
export function toast(text) {
  const shown = h("div", { class: "toast" }, text, h("button", {
    class: "icon", "aria-label": "Dismiss", onclick: () => shown.remove(),
  }, "✕"));
  document.getElementById("toasts").append(shown);
  setTimeout(() => shown.remove(), 10_000);
}

/** Asks before an act, in a dialog; whether it was confirmed. */
export function asked({ title, text, confirm, deny, style }) {
  return new Promise((resolve) => {
    const id = uniqueId();
    const dialog = h("dialog", { class: "confirm", "aria-labelledby": id },
      h("h2", { id }, title),
      h("div", { class: "text" }, text),
      h("div", { class: "row end" },
        h("button", { class: "button", onclick: () => dialog.close("") }, deny),
        h("button", {
          class: `button ${style === "danger" ? "danger-full" : "primary"}`,
          onclick: () => dialog.close("yes"),
        }, confirm)));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Opens a menu below a button; `entries` are labels with what each does. */
export function openMenu(button, entries) {
  const close = () => {
    menu.remove();
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
  };
  const outside = (event) => {
    if (!menu.contains(event.target)) close();
  };
  const menu = h("div", { class: "menu", role: "menu" }, entries.map(([label, act]) =>
    h("button", {
      role: "menuitem", tabindex: "-1",
      onclick: () => { close(); button.focus(); act(); },
    }, label)));
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.children];
    const at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      items[(to + items.length) % items.length].focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.stopPropagation();
      close();
      button.focus();
    }
  });
  // Inside an open dialog only what belongs to it can be used.
  (button.closest("dialog") ?? document.body).append(menu);
  const box = button.getBoundingClientRect();
  menu.style.left = `${Math.min(box.left, innerWidth - menu.offsetWidth - 8)}px`;
  const below = box.bottom + 4;
  menu.style.top = below + menu.offsetHeight > innerHeight
    ? `${box.top - menu.offsetHeight - 4}px` : `${below}px`;
  button.setAttribute("aria-expanded", "true");
  document.addEventListener("pointerdown", outside, true);
  menu.firstChild?.focus();
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false;
}
